import type { JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Dependencies } from '../dependencies.ts'
import { updateJob } from '../operations/change-job.ts'
import type { PendingEffect } from '../rules/effects.ts'
import type { Job } from '../rules/job.ts'

const firstRetryMs = 500
const longestRetryMs = 30_000

/** What came of trying an effect: it is done, or it is to be tried again. */
export type Delivery =
  | { readonly done: true; readonly change?: (job: Job) => Job }
  | {
      readonly done: false
      /** When left out, the wait grows from one attempt to the next. */
      readonly retryMs?: number
      /** What it failed with; absent when it only has to wait. */
      readonly error?: string
      readonly change?: (job: Job) => Job
    }

/** The delivery that an error makes: to be tried again, and why. */
export const failed = (error: unknown): { readonly done: false; readonly error: string } => ({
  done: false,
  error: error instanceof SvcError ? error.message : String(error),
})

/** Notes in the job what came of trying an effect; it leaves the outbox only when it is done. */
export async function finishEffect(
  deps: Dependencies,
  id: JobId,
  effectId: number,
  delivery: Delivery,
): Promise<void> {
  await updateJob(deps, id, (now) => {
    // Another leader may have finished it meanwhile.
    if (!now.outbox.some((pending) => pending.id === effectId)) return now
    const changed = delivery.change?.(now) ?? now
    return { ...changed, outbox: nextOutbox(changed, effectId, delivery, deps.clock.now()) }
  })
}

function nextOutbox(job: Job, effectId: number, delivery: Delivery, now: number) {
  if (delivery.done) return job.outbox.filter(({ id }) => id !== effectId)
  return job.outbox.map((pending) =>
    pending.id === effectId
      ? {
          ...pending,
          attempts: pending.attempts + 1,
          dueAt: now + (delivery.retryMs ?? backoffMs(pending)),
          error: delivery.error,
        }
      : pending,
  )
}

const backoffMs = ({ attempts }: PendingEffect): number =>
  Math.min(firstRetryMs * 2 ** attempts, longestRetryMs)
