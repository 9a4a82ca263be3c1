import type { JobId } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import type { Job } from '../rules/job.ts'
import type { WebhookAnswer } from '../rules/webhook.ts'
import { settledMessage } from '../webhooks/message.ts'

/** Tries once to tell a client's server that its job has settled, and records the result in the job. */
export async function sendWebhook(
  deps: Dependencies,
  id: JobId,
  effectId: number,
  term: AbortSignal,
): Promise<void> {
  const job = (await deps.store.findJob(id))?.document
  if (!job?.outbox.some((pending) => pending.id === effectId)) return
  if (job.webhook?.state !== 'waiting') {
    await changeJob(deps, id, { type: 'effect-tried', effectId, tried: { done: true } })
    return
  }
  const answer = await send(deps, job, term).catch((error: unknown) => {
    if (!term.aborted) throw error
  })
  // Another replica leads now and tries again. A receiver may get the same message twice.
  if (!answer || term.aborted) return
  // Messages that failed together are not tried again together.
  const jitter = (deps.random.bytes(1)[0] ?? 0) / 256
  const changed = await changeJob(deps, id, { type: 'webhook-tried', effectId, answer, jitter })
  const { state = 'given-up', attempts } = changed.webhook ?? {}
  deps.metrics.webhook(state)
  deps.log.info('webhook tried', { jobId: id, state, attempts, ...answer })
}

const send = async (deps: Dependencies, job: Job, term: AbortSignal): Promise<WebhookAnswer> =>
  deps.webhooks
    ? deps.webhooks.send(await settledMessage(deps, job), term)
    : { error: 'webhooks-off' }
