import { freeNodes } from '../../lib/draw.ts'
import { type PoolSnapshot, readPool } from '../../lib/pool-snapshot.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Demand } from '../rules/eligibility.ts'
import { askForPool } from './ask-for-pool.ts'
import { keepParts, putPool } from './keep-pool.ts'
import { loadCandidates } from './load-pool.ts'

/** Which pool a preview was drawn from, and by which replica. */
export type PreviewedPool = {
  readonly poolCid: string
  readonly drawnBy: string
  readonly demand: Demand
}

/**
 * Keeps the pool of a preview for the job that comes of it; false when there is no room. Throws `preview-stale` when nobody
 * has the pool any more: what is left of the preview could not be recomputed.
 */
export async function keepPreviewedPool(
  deps: Dependencies,
  { poolCid, drawnBy, demand }: PreviewedPool,
  untilMs: number,
): Promise<boolean> {
  const parts = deps.pool.held.partsOf(poolCid) ?? (await makeAgain(deps, demand, poolCid))
  if (parts) {
    if (!(await putPool(deps, parts))) return false
    await keepParts(deps, [...parts.keys()], untilMs)
    return true
  }
  if (await keepKept(deps, poolCid, untilMs)) return true
  const isOther = deps.store.shared && drawnBy !== deps.replicaId
  const answer = isOther ? await askForPool(deps, drawnBy, poolCid) : 'gone'
  if (answer === 'no-room') return false
  if (answer === 'kept' && (await keepKept(deps, poolCid, untilMs))) return true
  throw gone()
}

const gone = () =>
  new ProblemError('preview-stale', 'What the preview was drawn from is gone; ask for another')

/** The pool as it is now, when that is the one. */
async function makeAgain(
  deps: Dependencies,
  demand: Demand,
  poolCid: string,
): Promise<PoolSnapshot['parts'] | undefined> {
  const { held } = deps.pool
  const { root } = await held.hold(freeNodes(await loadCandidates(deps, demand)))
  return root === poolCid ? held.partsOf(poolCid) : undefined
}

/** Keeps a pool that is among the blobs, for another job or since it was asked for; false when it is not whole there. */
async function keepKept(deps: Dependencies, poolCid: string, untilMs: number): Promise<boolean> {
  try {
    const { cids } = await readPool(poolCid, async (cid) => {
      const bytes = await deps.blobs.get(cid)
      if (bytes) return bytes
      throw gone()
    })
    await keepParts(deps, cids, untilMs)
    return true
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'preview-stale') return false
    throw error
  }
}
