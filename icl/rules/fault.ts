import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { FaultKind, SlashState } from '../../lib/schemas/fault.ts'
import type { PostedStatement } from './posted.ts'

/** What becomes of a fault on chain; times in Unix seconds. */
export type Slash = {
  readonly state: SlashState
  readonly faultId: Hash32
  readonly evidenceHash: Hash32
  readonly amountWei: bigint
  readonly executableAt?: number | undefined
  /** Of the operator's answer, once there is one. */
  readonly answerHash?: Hash32 | undefined
  readonly proposedTx?: Hash32 | undefined
  readonly executedTx?: Hash32 | undefined
  /** What was taken in the end, which may be less than was proposed. */
  readonly takenWei?: bigint | undefined
}

/** Where a slash stands on chain; times in Unix seconds. */
export type ChainSlash =
  | { readonly state: 'absent' }
  | {
      readonly state: 'proposed'
      readonly amountWei: bigint
      readonly evidenceHash: Hash32
      /** Before this it cannot be executed, and the operator may answer. */
      readonly executableAt: number
      readonly answerHash?: Hash32
    }
  /** Settled, but not deep enough to stay so. */
  | { readonly state: 'shallow' }
  | { readonly state: 'executed'; readonly tx: Hash32; readonly takenWei: bigint }
  /** By the arbiter. */
  | { readonly state: 'cancelled'; readonly tx: Hash32 }

/** What a node provably did wrong in a job; at most one of each kind for a fence. */
export type Fault = {
  readonly kind: FaultKind
  readonly node: Address
  readonly fence: number
  /** Milliseconds. */
  readonly at: number
  /** The proof, as FaultEvidence has it. Dropped once the slash is settled. */
  readonly statements?: readonly PostedStatement[] | undefined
  readonly slash?: Slash | undefined
}
