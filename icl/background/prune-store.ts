import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { dayMs, hourMs } from '../../lib/time.ts'
import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Leadership } from './leadership.ts'

const lookMs = 60_000
const batchSize = 200
const restMs = 100

/** Deletes every hour, while this replica leads, the jobs after the network's retention time and the expired keys and blobs. */
export async function keepPruned(
  deps: Dependencies,
  leadership: Leadership,
  signal: AbortSignal,
): Promise<void> {
  let prunedAt: MonotonicMs | undefined
  await every(deps, lookMs, signal, 'pruning', async () => {
    const mayPrune = () => !signal.aborted && leadership.term() !== undefined
    if (!mayPrune() || elapsedSince(deps.clock, prunedAt) < hourMs) return
    const startedAt = deps.clock.monotonic()
    const pruned = await pruneStore(deps, mayPrune)
    // A store that failed is tried again at the next look. Kubo is asked once an hour, because it goes through all its pins.
    if (mayPrune()) prunedAt = startedAt
    const unpinned = await deps.blobs.prune(mayPrune)
    const records = pruned + unpinned
    if (records > 0) deps.log.info('pruned', { records })
  })
}

/** Prunes in small batches with pauses, so that nobody waits for it. */
async function pruneStore({ store, clock, network }: Dependencies, mayGoOn: () => boolean) {
  let pruned = 0
  while (mayGoOn()) {
    const now = clock.now()
    const settledBefore = now - network.blob_retention_days * dayMs
    const count = await store.prune({ now, settledBefore, limit: batchSize })
    if (count === 0) break
    pruned += count
    await clock.sleep(restMs)
  }
  return pruned
}
