import type { JobId } from '../../lib/codecs.ts'
import type { JournalStep } from './steps.ts'
import { rememberedStatements } from './write-journal.ts'

/** How often the provider was asked for a job, by job: the one that was asked for last is the last. */
export type Asked = Map<JobId, number>

/** Counts a step that says so; as many jobs are kept in mind as signed answers. */
export function countAsked(asked: Asked, step: JournalStep): void {
  if (step.step !== 'asked' && step.step !== 'asked-before') return
  const { jobId } = step
  const before = asked.get(jobId) ?? 0
  asked.delete(jobId)
  asked.set(jobId, before + (step.step === 'asked' ? 1 : step.times))
  const [oldest] = asked.keys()
  if (asked.size > rememberedStatements && oldest !== undefined) asked.delete(oldest)
}

/** The steps that tell of the questions of which the `live` ones do not. */
export function askedBefore(asked: Asked, live: readonly JournalStep[]): readonly JournalStep[] {
  const told: Asked = new Map()
  for (const step of live) countAsked(told, step)
  return [...asked].flatMap(([jobId, all]): JournalStep[] => {
    const times = all - (told.get(jobId) ?? 0)
    return times > 0 ? [{ step: 'asked-before', jobId, fence: 1, times }] : []
  })
}
