import type { JobId } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import { drawSeed } from '../operations/draw-seed.ts'
import { keepBlobsUntil } from '../operations/keep-blobs.ts'
import { keepPool } from '../operations/keep-pool.ts'
import { demandOf, loadCandidates } from '../operations/load-pool.ts'
import type { SeatFill } from '../rules/commands.ts'
import type { Job } from '../rules/job.ts'
import { replicaFor } from '../rules/share.ts'
import { countSeatsToFill, freshNodes, needsPool } from '../rules/tick.ts'
import type { LiveReplicas } from './live-replicas.ts'
import type { Work } from './work.ts'

const batchSize = 256
const overdueMs = 3_000

/** Starts this replica's share of the jobs whose time has come, and what another should have done 3 s ago. */
export async function tickDue(
  deps: Dependencies,
  work: Work,
  replicas: LiveReplicas,
): Promise<void> {
  const now = deps.clock.now()
  // What is under way, or fails again and again, stays due: it must not take the place of the rest.
  const limit = batchSize + work.size + work.failed
  const due = await deps.store.listDueTicks(now, limit)
  const ids = replicas.ids()
  const own = due.filter((id) => replicaFor(id, ids) === deps.replicaId)
  const overdue =
    own.length < due.length ? await deps.store.listDueTicks(now - overdueMs, limit) : []
  for (const id of new Set([...own, ...overdue])) {
    void work.start(`tick ${id}`, () => tickJob(deps, id))
  }
}

/** Lets the rules look at a job whose time has come, with the pool if seats are to be filled. */
async function tickJob(deps: Dependencies, id: JobId): Promise<void> {
  await changeJob(deps, id, async (job) => {
    const now = deps.clock.now()
    if (job.tickAt === undefined || job.tickAt > now) return undefined
    return {
      type: 'tick',
      fill: needsPool(job, now) ? await seatFillOf(deps, job, now) : undefined,
    }
  })
}

async function seatFillOf(deps: Dependencies, job: Job, now: number): Promise<SeatFill> {
  const pool = await loadCandidates(deps, demandOf(job))
  const count = countSeatsToFill(job, pool, now)
  const isDrawn = count > 0 && freshNodes(job, pool).some(({ busy }) => !busy)
  const [seed, poolCid] = await Promise.all([
    drawSeed(deps, {
      client: job.client,
      jobId: job.id,
      ordinal: job.draws.length,
      modelId: job.modelId,
      minTier: job.minTier,
      count,
    }),
    isDrawn ? keepPool(deps, pool, keepBlobsUntil(deps, job)) : undefined,
  ])
  return { pool, seed, count, poolCid }
}
