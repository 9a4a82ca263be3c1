import type { JobId } from '../../lib/codecs.ts'
import type { JournalStep } from './steps.ts'
import { rememberedStatements } from './write-journal.ts'

/** How often the provider was asked, by job. The job asked for last comes last. */
export type Asked = Map<JobId, number>

/** Counts a step that notes a question. Remembers as many jobs as signed assignments. */
export function countAsked(asked: Asked, step: JournalStep): void {
  if (step.step !== 'asked' && step.step !== 'asked-before') return
  const { jobId } = step
  const before = asked.get(jobId) ?? 0
  asked.delete(jobId)
  asked.set(jobId, before + (step.step === 'asked' ? 1 : step.times))
  const [oldest] = asked.keys()
  if (asked.size > rememberedStatements && oldest !== undefined) asked.delete(oldest)
}

/** Returns the steps that note the questions that the `live` steps do not. */
export function askedBefore(asked: Asked, live: readonly JournalStep[]): readonly JournalStep[] {
  const told: Asked = new Map()
  for (const step of live) countAsked(told, step)
  return [...asked].flatMap(([jobId, all]): JournalStep[] => {
    const times = all - (told.get(jobId) ?? 0)
    return times > 0 ? [{ step: 'asked-before', jobId, fence: 1, times }] : []
  })
}
