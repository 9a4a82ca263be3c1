import type { Address } from '../../lib/codecs.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import type { FaultKind } from '../../lib/schemas/fault.ts'

/** What has to be done outside the job after it is saved. Every effect is safe to repeat. */
export type Effect =
  /** Make sure that the node may read the prompt key. Activates the node where the client's commitment allows that. */
  | { readonly type: 'ensure-access'; readonly node: Address; readonly fence: number }
  /** Record a reason-coded event about a node. */
  | {
      readonly type: 'score-node'
      readonly node: Address
      readonly fence: number
      readonly code: ReputationCode
      /** How much of its stake was taken. */
      readonly amountGwei?: number
      /** For the end of a slash: the fault that it was for. One assignment may have a fault of each kind. */
      readonly fault?: FaultKind
      /** For a gain: the other members of the agreement. */
      readonly partners?: readonly Address[]
    }
  /** Have a node that is provably at fault slashed, and follow the slash until it is settled. */
  | {
      readonly type: 'slash-node'
      readonly node: Address
      readonly fence: number
      readonly kind: FaultKind
    }
  /** Put the accepted result on chain. */
  | { readonly type: 'commit-result' }
  /** Tell the client's server that the job has settled. The first try waits `afterMs`. */
  | { readonly type: 'notify'; readonly afterMs: number }

/** The effect that scores a node for what it did in one assignment. */
export const scoring = (
  { node, fence }: { readonly node: Address; readonly fence: number },
  code: ReputationCode,
) => ({ type: 'score-node', node, fence, code }) as const

/** An effect in a job's outbox, its due time (milliseconds) and the number of tries. */
export type PendingEffect = {
  readonly id: number
  readonly effect: Effect
  readonly attempts: number
  readonly dueAt: number
  /** The error of the last try, if it failed. */
  readonly error?: string | undefined
}
