import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { jobKey, nodeKey } from '../async/notifier.ts'
import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'

const lookMs = 250
const staleMs = 5_000

/**
 * Tells those who wait in this process what other replicas have saved: one look at the store for all of them, and none while
 * nobody waits. Ends when the signal aborts.
 */
export async function watchChanges(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { store, notifier, clock } = deps
  if (!store.shared) return
  let cursor: string | undefined
  let seenAt: MonotonicMs | undefined
  await every(deps, lookMs, signal, 'looking for changes', async () => {
    if (!notifier.isAwaited) return
    const isStale = elapsedSince(clock, seenAt) > staleMs
    const changes = await store.listChanges(isStale ? undefined : cursor)
    // What was saved since the last look may be too much to list: everybody looks for himself, once.
    if (isStale) notifier.notifyAll()
    for (const { id, offeredTo } of changes.jobs) {
      notifier.notify(jobKey(id))
      for (const node of offeredTo) notifier.notify(nodeKey(node))
    }
    cursor = changes.cursor
    // Counted from the answer: a store that is slow to give it must not have everybody look again and again.
    seenAt = clock.monotonic()
  })
}
