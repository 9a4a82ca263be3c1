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
    const pruned = await prune(deps, mayPrune)
    if (mayPrune()) prunedAt = deps.clock.monotonic()
    if (pruned > 0) deps.log.info('pruned', { records: pruned })
  })
}

/** Prunes in small batches with pauses, so that nobody waits for it. */
async function prune({ store, blobs, clock, network }: Dependencies, mayGoOn: () => boolean) {
  let pruned = 0
  while (mayGoOn()) {
    const now = clock.now()
    const settledBefore = now - network.blob_retention_days * dayMs
    const count = await store.prune({ now, settledBefore, limit: batchSize })
    if (count === 0) break
    pruned += count
    await clock.sleep(restMs)
  }
  return pruned + (await blobs.prune(mayGoOn))
}
