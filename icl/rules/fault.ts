import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { FaultKind, SlashState } from '../../lib/schemas/fault.ts'
import type { PostedStatement } from './posted.ts'

/** The ICL's record of the slash for a fault; times in Unix seconds. */
export type Slash = {
  readonly state: SlashState
  readonly faultId: Hash32
  readonly evidenceHash: Hash32
  readonly amountWei: bigint
  readonly executableAt?: number | undefined
  /** Hash of the operator's answer, once there is one. */
  readonly answerHash?: Hash32 | undefined
  readonly proposedTx?: Hash32 | undefined
  readonly executedTx?: Hash32 | undefined
  /** The amount taken in the end. It may be less than proposed. */
  readonly takenWei?: bigint | undefined
}

/** The state of a slash on chain; times in Unix seconds. */
export type ChainSlash =
  | { readonly state: 'absent' }
  | {
      readonly state: 'proposed'
      readonly amountWei: bigint
      readonly evidenceHash: Hash32
      /** Before this time the slash cannot be executed, and the operator may answer. */
      readonly executableAt: number
      readonly answerHash?: Hash32
    }
  /** Settled in a block that is not deep enough to be final. */
  | { readonly state: 'shallow' }
  | { readonly state: 'executed'; readonly tx: Hash32; readonly takenWei: bigint }
  /** The arbiter cancelled it. */
  | { readonly state: 'cancelled'; readonly tx: Hash32 }

/** What a node provably did wrong in a job. A fence has at most one fault of each kind. */
export type Fault = {
  readonly kind: FaultKind
  readonly node: Address
  readonly fence: number
  /** Milliseconds. */
  readonly at: number
  /** The proof, in the order of FaultEvidence. Dropped once the slash is settled. */
  readonly statements?: readonly PostedStatement[] | undefined
  readonly slash?: Slash | undefined
}
