import type { Address } from '../../lib/codecs.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import type { FaultKind } from '../../lib/schemas/fault.ts'

/** What the outside world must do after a job is saved; every effect is safe to repeat. */
export type Effect =
  /** See that the node may read the prompt key, activating it where the client's commitment allows that. */
  | { readonly type: 'ensure-access'; readonly node: Address; readonly fence: number }
  /** Record a reason-coded event about a node. */
  | {
      readonly type: 'score-node'
      readonly node: Address
      readonly fence: number
      readonly code: ReputationCode
      /** What was taken of its stake. */
      readonly amountGwei?: number
      /** Of a gain: the other members of the agreement that brought it. */
      readonly partners?: readonly Address[]
    }
  /** Have a node that is provably at fault slashed, and see to it until that is settled. */
  | {
      readonly type: 'slash-node'
      readonly node: Address
      readonly fence: number
      readonly kind: FaultKind
    }
  /** Put the accepted result on chain. */
  | { readonly type: 'commit-result' }
  /** Tell the client's server that the job has settled, at first `afterMs` later. */
  | { readonly type: 'notify'; readonly afterMs: number }

/** An effect in a job's outbox: when it is due (milliseconds), and how often it was tried. */
export type PendingEffect = {
  readonly id: number
  readonly effect: Effect
  readonly attempts: number
  readonly dueAt: number
  /** What the last try failed with, if it did. */
  readonly error?: string | undefined
}
