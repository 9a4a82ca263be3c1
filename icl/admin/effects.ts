import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { PendingEffect } from '../rules/effects.ts'
import type { Job } from '../rules/job.ts'
import { unlessUnreadable } from '../store/unreadable.ts'
import type { AdminContext } from './context.ts'

const mostJobs = 1_000_000
const maxTries = 20

/** An effect that is not delivered yet. */
export type OpenEffect = { readonly jobId: JobId; readonly pending: PendingEffect }

/** Lists the effects of all jobs that are not delivered, by job. */
export async function* listEffects({ store }: AdminContext): AsyncGenerator<OpenEffect> {
  const ids = await store.listDue('effect', Number.MAX_SAFE_INTEGER, mostJobs)
  for (const jobId of ids.toSorted()) {
    const job = (await store.findJob(jobId).catch(unlessUnreadable))?.document
    for (const pending of job?.outbox ?? []) yield { jobId, pending }
  }
}

/** Makes a job's effects due now, and returns how many were due later. Undefined when there is no such job. */
export async function retryEffects(
  { store, clock }: AdminContext,
  id: JobId,
): Promise<number | undefined> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await store.findJob(id)
    if (!found) return undefined
    const now = clock.now()
    const later = found.document.outbox.filter(({ dueAt }) => dueAt > now).length
    if (later === 0) return 0
    const outbox = found.document.outbox.map((pending) => ({
      ...pending,
      dueAt: Math.min(pending.dueAt, now),
    }))
    const job: Job = { ...found.document, outbox }
    if (await store.save({ kind: 'job', job, base: found.version })) return later
  }
  throw new ProblemError('unavailable', `The job ${id} is being changed all the time`)
}
