import type { FaultKind } from '../../lib/schemas/fault.ts'
import type { Effect } from './effects.ts'
import type { Fault } from './fault.ts'
import { type Assignment, type Job, recorded } from './job.ts'
import type { PostedStatement } from './posted.ts'

/** The job with a new fault and the effects of it; undefined when the fault is already known. */
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
