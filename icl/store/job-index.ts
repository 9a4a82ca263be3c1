import type { Address } from '../../lib/codecs.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { isBusy, isSettled, type Job } from '../rules/job.ts'

/** What a job is found by; times in milliseconds. */
export type JobIndex = {
  readonly client: Address
  readonly phase: JobPhase
  readonly createdAt: number
  readonly settledAt: number | undefined
  readonly wakeAt: number | undefined
  /** When its first effect is due; undefined when all are delivered. */
  readonly effectsDueAt: number | undefined
  readonly effects: number
  /** Slots that take their node's time; none once the job has settled. */
  readonly busy: readonly { readonly node: Address; readonly status: 'offered' | 'claimed' }[]
}

/** What a job is found by, so that every store finds the same. */
export function indexOfJob(job: Job): JobIndex {
  const settled = isSettled(job.phase)
  const { client, phase, createdAt, outbox } = job
  return {
    client,
    phase,
    createdAt,
    settledAt: settled ? (job.settledAt ?? createdAt) : undefined,
    wakeAt: settled ? undefined : job.wakeAt,
    effectsDueAt: outbox.length > 0 ? Math.min(...outbox.map(({ dueAt }) => dueAt)) : undefined,
    effects: outbox.length,
    busy: settled
      ? []
      : job.slots.flatMap(({ node, status }) =>
          isBusy(status) ? [{ node, status: status === 'offered' ? status : 'claimed' }] : [],
        ),
  }
}
