import type { JobId } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import { drawSeed } from '../operations/draw-seed.ts'
import { loadCandidates } from '../operations/load-pool.ts'
import { emptySeats, type Job } from '../rules/job.ts'
import { needsPool } from '../rules/wake.ts'
import { createTurns, type Turns } from '../turns.ts'
import { dueKey } from '../waiters.ts'
import { deliverEffect } from './deliver-effect.ts'

const idleMs = 250
const batchSize = 64

/** Does what is due until the signal aborts; what is under way is finished first. */
export async function runPasses(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const underWay = new Map<string, Promise<void>>()
  const offers = createTurns()
  while (!signal.aborted && !deps.waiters.closed) {
    const news = deps.waiters.wait([dueKey], idleMs, signal)
    await startDue(deps, underWay, offers).catch((error: unknown) => {
      deps.log.error('looking for due jobs failed', { error: String(error) })
    })
    await news
  }
  await Promise.all(underWay.values())
}

/** Starts each due piece of work that is not under way already. */
async function startDue(
  deps: Dependencies,
  underWay: Map<string, Promise<void>>,
  offers: Turns,
): Promise<void> {
  const start = (key: string, work: () => Promise<void>) => {
    if (underWay.has(key)) return
    const running = work()
      .catch((error: unknown) => {
        deps.log.error('background work failed', { work: key, error: String(error) })
      })
      .finally(() => underWay.delete(key))
    underWay.set(key, running)
  }
  const now = deps.clock.now()
  // What is under way stays due until it is done: it must not take the place of the rest.
  for (const id of await deps.store.listDueJobs(now, batchSize + underWay.size)) {
    const job = (await deps.store.findJob(id))?.document
    if (!job) continue
    if (job.wakeAt !== undefined && job.wakeAt <= now) start(`wake ${id}`, () => wakeJob(deps, id))
    for (const pending of job.outbox.filter(({ dueAt }) => dueAt <= now)) {
      start(`effect ${pending.id} of ${id}`, () => deliverEffect(deps, id, pending.id, offers))
    }
  }
}

/** Lets the rules look at a job whose time has come, with the pool if seats are to be filled. */
async function wakeJob(deps: Dependencies, id: JobId): Promise<void> {
  await changeJob(deps, id, async (job) => {
    const now = deps.clock.now()
    if (job.wakeAt === undefined || job.wakeAt > now) return undefined
    return { type: 'wake', fill: needsPool(job, now) ? await fillOf(deps, job) : undefined }
  })
}

async function fillOf(deps: Dependencies, job: Job) {
  const demand = { modelId: job.modelId, minTier: job.minTier }
  const [pool, seed] = await Promise.all([
    loadCandidates(deps, demand),
    drawSeed(deps, {
      client: job.client,
      jobId: job.id,
      ordinal: job.draws.length,
      modelId: job.modelId,
      minTier: job.minTier,
      count: emptySeats(job).length,
    }),
  ])
  return { pool, seed }
}
