import { createKeyedMutex } from './mutex.ts'

/** Does together what comes for one key at about the same time. */
export type Batches = {
  /** Has an item done by `work`, which gets with it all that came for the key before it began; it must not reject. */
  add<T>(key: string, item: T, work: (items: readonly T[]) => Promise<void>): void
}

/** Calls back once the process has seen to what has come in already. */
export type Defer = (work: () => void) => void

/** Makes empty batches. Those of one key are done one after the other, and each waits for `defer` first, so that more may come. */
export function createBatches(defer: Defer = queueMicrotask): Batches {
  const turns = createKeyedMutex()
  const waiting = new Map<string, unknown[]>()
  return {
    add: (key, item, work) => {
      const others = waiting.get(key)
      if (others) {
        others.push(item)
        return
      }
      const items = [item]
      waiting.set(key, items)
      void turns(key, async () => {
        await new Promise<void>(defer)
        waiting.delete(key)
        await work(items)
      })
    },
  }
}
