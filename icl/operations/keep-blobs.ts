import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'
import { keepOf, ownBlobsOf } from '../rules/kept-blobs.ts'
import { coversKeep, type Keep, type Write } from '../store/store.ts'
import { loadPublished, roundedUp } from './publish-pool.ts'

/**
 * Returns the writes that keep a job's own blobs for as long as its new state asks, if they are here. Keeps the parts of its pool at once, so
 * that its list can be drawn again.
 */
export async function keepingBlobs(
  deps: Dependencies,
  before: Job | undefined,
  job: Job,
): Promise<readonly Write[]> {
  const retentionMs = deps.network.blob_retention_days * dayMs
  const keep = keepOf(job, retentionMs)
  const isKept = before !== undefined && coversKeep(keepOf(before, retentionMs), keep)
  if (!isKept) {
    await keepPool(deps, job, keep).catch((error: unknown) => {
      // No job is taken in without its pool. One that runs continues: its pool is needed only to draw its list again.
      if (before === undefined) throw error
      const { pool_cid: pool } = job.list.terms
      const what = { jobId: job.id, pool, error: String(error) }
      deps.log.warn('the pool of a job is not kept longer', what)
    })
  }
  const known = isKept ? ownBlobsOf(before) : []
  const cids = new Set(ownBlobsOf(job).filter((cid) => !known.includes(cid)))
  return cids.size === 0 ? [] : await deps.blobs.keeping([...cids], keep)
}

async function keepPool(deps: Dependencies, job: Job, keep: Keep): Promise<void> {
  const { parts } = await loadPublished(deps, job.list.terms.pool_cid)
  await deps.blobs.keep(parts, roundedUp(keep, deps.clock.now()))
}
