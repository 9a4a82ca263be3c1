import type { FaultKind } from '../../lib/schemas/fault.ts'
import { scoring } from './effects.ts'
import type { Fault } from './fault.ts'
import {
  type Assignment,
  type Change,
  changeTo,
  type Job,
  recorded,
  refuse,
  type Transition,
} from './job.ts'
import type { PostedStatement } from './posted.ts'

/** The job with a new fault and the effects of it; undefined when the fault is already known. */
export function withFault(
  job: Job,
  assignment: Assignment,
  kind: FaultKind,
  statements: readonly PostedStatement[],
  now: number,
): Change | undefined {
  const { node, fence } = assignment
  if (faultOf(job, kind, fence)) return undefined
  const fault: Fault = { kind, node, fence, at: now, statements }
  const faulted = { ...job, faults: [...(job.faults ?? []), fault] }
  return changeTo(recorded(faulted, now, 'fault-found', { assignment, detail: kind }), [
    scoring(assignment, kind),
    { type: 'slash-node', node, fence, kind },
  ])
}

/** The outcome of a further statement in the place of `first`. If it differs, it proves a fault when the same session key signed both. */
export function repeated<S extends PostedStatement>(
  job: Job,
  assignment: Assignment,
  first: S,
  second: S,
  now: number,
): Transition {
  if (first.hash === second.hash) return changeTo(job)
  const isProven = first.session.key === second.session.key
  const noted = isProven && withFault(job, assignment, 'equivocated', [first, second], now)
  const what = first.body.statement === 'svc-answer-v3' ? 'answer' : 'statement'
  const detail = `The node gave another ${what} for this fence before`
  return refuse('already-answered', detail, noted || undefined)
}

/** The job's fault of a kind at a fence; undefined when there is none. */
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
