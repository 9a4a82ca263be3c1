import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import type { PassReason } from '../../lib/schemas/list.ts'
import type { ChainSlash, Slash } from './fault.ts'
import type { Job } from './job.ts'
import type { Opening } from './open-check.ts'
import type { Outage } from './outages.ts'
import type { PostedAnswer, PostedDelivery, PostedTurnAbort, PostedVerdict } from './posted.ts'
import type { WebhookAnswer } from './webhook.ts'

type AbortReasonCode = (typeof AbortReason)['options'][number]

/** How each member of the job's list is now, in the list's order: fit for an offer, busy, or why it cannot have one. */
export type MemberState = 'fit' | PassReason

/** What a node says about its own assignment. */
export type NodeCommand = {
  readonly node: Address
  readonly fence: number
} /** By its own call, or by a poll of this name, whose answer may be lost. */ & (
  | { readonly type: 'claim'; readonly poll?: string }
  | { readonly type: 'commit'; readonly commitment: Hash32 }
  | {
      readonly type: 'reveal'
      readonly answer: PostedAnswer
      /** The commitment that the answer's evidence and salt make. */
      readonly commitment: Hash32
    }
  | { readonly type: 'deliver'; readonly delivery: PostedDelivery }
  | { readonly type: 'post-verdict'; readonly verdict: PostedVerdict }
  | ({ readonly type: 'open-check' } & Opening)
  | { readonly type: 'abort'; readonly reason: AbortReasonCode }
  | { readonly type: 'abort-turn'; readonly abort: PostedTurnAbort }
)

/** What the ICL finds out about the node of an assignment that is not offered yet. */
export type Finding = {
  readonly node: Address
  readonly fence: number
} /** The chain shows that the node may read the keys. */ & (
  | { readonly type: 'see-access' }
  /** The chain shows that the node may not, and nobody can grant it but the client. */
  | { readonly type: 'miss-access' }
  /** The chain refuses to let the node read the keys, for any sender. */
  | { readonly type: 'refuse-access' }
  /** The node can read the keys, but has as much work as it takes. */
  | { readonly type: 'find-busy' }
  /** The node has left the pool before it was offered anything. */
  | { readonly type: 'find-gone' }
  /** The chain gives nobody else access: the client committed to another list, or ended this one. */
  | { readonly type: 'find-ended' }
)

/** What came of a try: the effect is done, or is to be tried again. */
export type Tried =
  | { readonly done: true }
  | {
      readonly done: false
      /** When left out, the wait grows from one try to the next. */
      readonly retryMs?: number
      /** What it failed with. Absent when it only has to wait. */
      readonly error?: string
    }

/** What came of a try of an effect, by kind of effect. */
export type EffectNews =
  | { readonly type: 'effect-tried'; readonly tried: Tried }
  /** The transaction with the job's result, once one is sent. It is on chain for good when it is deep. */
  | { readonly type: 'commit-seen'; readonly tx: Hash32 | undefined; readonly isDeep: false }
  | { readonly type: 'commit-seen'; readonly tx: Hash32; readonly isDeep: true }
  /** How the slash of a fault stands. It is off where the operator of the ICL has nobody slashed. */
  | {
      readonly type: 'slash-seen'
      readonly slash: Slash
      readonly found: ChainSlash | { readonly state: 'off' }
    }
  /** What the client's server answered. `jitter`, from 0 to 1, adds up to a tenth to the wait for the next try. */
  | { readonly type: 'webhook-tried'; readonly answer: WebhookAnswer; readonly jitter: number }

/** News of the effect that has this number in the job's outbox. One that is not there any more changes nothing. */
export type EffectCommand = EffectNews & { readonly effectId: number }

/** A node's claim. */
type Claim = Extract<NodeCommand, { readonly type: 'claim' }>

/** What came of effects that were tried together: each with what it found before it. A node that waits for work claims what it is offered. */
export type NewsOfEffects = readonly (Finding | Claim | EffectCommand)[]

/** What a node, the client, the chain or the clock asks of a job. */
export type Command =
  | NodeCommand
  | Finding
  | EffectCommand
  /** As these commands one after the other. */
  | { readonly type: 'effects-seen'; readonly news: NewsOfEffects }
  /** The receipt of the job, which has just been accepted. */
  | ({ readonly type: 'receipt-made' } & Pick<Required<Job>, 'receipt' | 'receiptHash'>)
  | { readonly type: 'cancel' }
  /** The ICL may have been away in these times; those that the job heeds already change nothing. */
  | { readonly type: 'miss-time'; readonly outages: readonly Outage[] }
  /** Time has passed; `members` are absent when no seat is empty. */
  | {
      readonly type: 'tick'
      readonly members?: readonly MemberState[] | undefined
    }
