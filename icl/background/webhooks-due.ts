import type { JobId } from '../../lib/codecs.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import type { Job } from '../rules/job.ts'
import type { WebhookAnswer } from '../rules/webhook.ts'
import { settledMessage } from '../webhooks/webhooks.ts'

const maxQueued = 500
// A server that answers nobody must not fill the queue: the messages to all others would be put off.
const maxQueuedForServer = 50
const maxUnderWay = 32
const maxUnderWayAtServer = 4
const fullRetryMs = 30_000

type Notice = { readonly effectId: number; readonly server: string; readonly term: AbortSignal }

/** Sends messages to clients' servers concurrently, few at a time to each. Other effects do not wait for a slow server. */
export function createNotices(deps: Dependencies) {
  const work = createWork(deps)
  const queued = new Map<JobId, Notice>()
  const underWay = new Map<JobId, string>()

  const isFree = (server: string): boolean =>
    underWay.size < maxUnderWay &&
    [...underWay.values()].filter((other) => other === server).length < maxUnderWayAtServer
  const hasRoom = (server: string): boolean =>
    queued.size < maxQueued &&
    [...queued.values()].filter((other) => other.server === server).length < maxQueuedForServer
  const start = async (id: JobId, { effectId, server, term }: Notice) => {
    queued.delete(id)
    if (term.aborted) return
    underWay.set(id, server)
    try {
      await work.start(`webhook of ${id}`, () => sendWebhook(deps, id, effectId, term))
    } finally {
      underWay.delete(id)
      startFree()
    }
  }
  const startFree = () => {
    for (const [id, notice] of queued) {
      if (underWay.size >= maxUnderWay) return
      if (notice.term.aborted || isFree(notice.server)) void start(id, notice)
    }
  }

  return {
    /** How many messages are queued, are being sent, or have just failed. */
    get size() {
      return queued.size + underWay.size + work.failed
    },
    /** Sends the message of a job's effect as soon as there is room, or puts it off. */
    add: ({ id, webhook }: Job, effectId: number, term: AbortSignal) => {
      if (queued.get(id)?.term === term || underWay.has(id)) return
      const server = serverOf(webhook?.url)
      if (!hasRoom(server)) {
        const tried = { done: false, retryMs: fullRetryMs } as const
        void work.start(`putting off the webhook of ${id}`, async () => {
          await changeJob(deps, id, { type: 'effect-tried', effectId, tried })
        })
        return
      }
      queued.set(id, { effectId, server, term })
      startFree()
    },
    /** Resolves once no message is being sent. */
    idle: async () => {
      queued.clear()
      await work.idle()
    },
  }
}

const serverOf = (url: string | undefined): string =>
  url !== undefined && URL.canParse(url) ? new URL(url).host : ''

/** Tries once to tell a client's server that its job has settled, and records the result in the job. */
async function sendWebhook(
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
