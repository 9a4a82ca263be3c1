import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { FaultKind, SlashState } from '../../lib/schemas/fault.ts'
import type { Effect } from './effects.ts'
import {
  type Assignment,
  type Job,
  type PostedAnswer,
  type PostedDelivery,
  type PostedVerdict,
  recorded,
} from './job.ts'

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

/** Any statement of a node. */
export type PostedStatement = PostedAnswer | PostedDelivery | PostedVerdict

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

/** The job with a fault on record and what follows from it; undefined when it is known. */
export function withFault(
  job: Job,
  assignment: Assignment,
  kind: FaultKind,
  statements: readonly PostedStatement[],
  now: number,
): { readonly job: Job; readonly effects: readonly Effect[] } | undefined {
  const { node, fence } = assignment
  if (faultOf(job, kind, fence)) return undefined
  const fault: Fault = { kind, node, fence, at: now, statements }
  const faulted = { ...job, faults: [...(job.faults ?? []), fault] }
  return {
    job: recorded(faulted, now, 'fault-found', { assignment, detail: kind }),
    effects: [
      { type: 'score-node', node, fence, code: kind },
      { type: 'slash-node', node, fence, kind },
    ],
  }
}

/** A job's fault of a kind at a fence. */
export const faultOf = (job: Job, kind: FaultKind, fence: number): Fault | undefined =>
  job.faults?.find((fault) => fault.kind === kind && fault.fence === fence)

/** The job with one of its faults changed. */
export const withFaultChanged = (
  job: Job,
  { kind, fence }: Pick<Fault, 'kind' | 'fence'>,
  change: Partial<Fault>,
): Job => ({
  ...job,
  faults: job.faults?.map((fault) =>
    fault.kind === kind && fault.fence === fence ? { ...fault, ...change } : fault,
  ),
})
