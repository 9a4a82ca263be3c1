import type { JobId } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'
import { afterTry, type Webhook } from '../rules/webhook.ts'
import { settledMessage } from '../webhooks/message.ts'
import { finishEffect } from './finish-effect.ts'

/** Tells a client's server once that its job has settled, and notes in the job what came of it. */
export async function sendWebhook(
  deps: Dependencies,
  id: JobId,
  effectId: number,
  term: AbortSignal,
): Promise<void> {
  const job = (await deps.store.findJob(id))?.document
  if (!job?.outbox.some((pending) => pending.id === effectId)) return
  const { webhook } = job
  if (webhook?.state !== 'waiting') return finishEffect(deps, id, effectId, { done: true })
  const after = await attempt(deps, job, webhook, term).catch((error: unknown) => {
    if (!term.aborted) throw error
  })
  // Another replica has the work now, and tries for itself: a receiver may get the same message twice.
  if (!after || term.aborted) return
  const { webhook: tried, retryMs } = after
  deps.metrics.webhook(tried.state)
  const { state, attempts, lastStatus: status, lastError: error } = tried
  deps.log.info('webhook tried', { jobId: id, state, attempts, status, error })
  const change = (now: Job): Job => ({ ...now, webhook: tried })
  await finishEffect(
    deps,
    id,
    effectId,
    retryMs === undefined
      ? { done: true, change }
      : { done: false, retryMs: retryMs + jitter(deps, retryMs), change },
  )
}

async function attempt(deps: Dependencies, job: Job, webhook: Webhook, term: AbortSignal) {
  if (!deps.webhooks) {
    const { webhook: tried } = afterTry(webhook, { error: 'webhooks-off' })
    return { webhook: { ...tried, state: 'given-up' as const } }
  }
  return afterTry(webhook, await deps.webhooks.send(await settledMessage(deps, job), term))
}

/** Up to a tenth more, so that what failed together is not tried again together. */
function jitter({ random }: Dependencies, ms: number): number {
  const [byte = 0] = random.bytes(1)
  return Math.floor((ms * byte) / 2_560)
}
