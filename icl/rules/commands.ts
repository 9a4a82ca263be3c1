import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import type { Candidate, DrawSeed } from './draw.ts'
import type { SignedResult, SignedVerdict } from './job.ts'

type AbortReasonCode = (typeof AbortReason)['options'][number]

/** What a node says about its own slot. */
export type NodeCommand = { readonly node: Address; readonly fence: number } & (
  | { readonly type: 'claim' }
  | { readonly type: 'commit'; readonly commitment: Hash32 }
  | { readonly type: 'post-result'; readonly result: SignedResult }
  | {
      readonly type: 'post-verdict'
      readonly verdict: SignedVerdict
      /** The commitment that the verdict's evidence and salt make. */
      readonly commitment: Hash32
    }
  | { readonly type: 'abort'; readonly reason: AbortReasonCode }
)

/** What a node, the client, the chain or the clock asks of a job. */
export type Command =
  | NodeCommand
  /** The chain shows that the node may read the keys. */
  | { readonly type: 'see-access'; readonly node: Address; readonly fence: number }
  /** The chain shows that the node may not, and nobody can grant it but the client. */
  | { readonly type: 'miss-access'; readonly node: Address; readonly fence: number }
  /** The chain refuses to let the node read the keys, whoever asks. */
  | { readonly type: 'refuse-access'; readonly node: Address; readonly fence: number }
  | { readonly type: 'cancel' }
  /** Time has passed; `pool` and `seed` fill empty seats and are absent when none is empty. */
  | {
      readonly type: 'wake'
      readonly fill?: { readonly pool: readonly Candidate[]; readonly seed: DrawSeed } | undefined
    }
