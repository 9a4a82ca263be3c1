import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { jobKey, nodeKey, roomKey } from '../async/notifier.ts'
import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'

const lookMs = 250
const staleMs = 5_000

/** Notifies the waiting requests of this process about saves of other replicas, until the signal aborts. Reads the store only while one waits. */
export async function watchChanges(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { store, notifier, clock } = deps
  if (!store.shared) return
  let cursor: string | undefined
  let seenAt: MonotonicMs | undefined
  await every(deps, lookMs, signal, 'looking for changes', async () => {
    if (!notifier.isAwaited) return
    const isStale = elapsedSince(clock, seenAt) > staleMs
    const changes = await store.listChanges(isStale ? undefined : cursor)
    // Too much may have changed since the last look to list it: every request looks once for itself.
    if (isStale) notifier.notifyAll()
    for (const { id, offeredTo } of changes.jobs) {
      notifier.notify(jobKey(id))
      for (const node of offeredTo) notifier.notify(nodeKey(node))
    }
    if (changes.jobs.length > 0) notifier.notify(roomKey)
    cursor = changes.cursor
    // Counts from the answer, so that a slow store does not make all requests look again and again.
    seenAt = clock.monotonic()
  })
}
