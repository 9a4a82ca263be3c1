import { createKeyedMutex } from './mutex.ts'

/** Processes items of one key together when they come at about the same time. */
export type Batches = ReturnType<typeof createBatches>

/** Calls back once the process has handled what has arrived. */
export type Defer = (work: () => void) => void

// The nodes of a job act on the same news, but a busy process reads their requests in several rounds.
const gatherRounds = 4

/** Creates empty batches. Batches of one key run one at a time, and each waits for `defer` a few times first, to collect more items. */
export function createBatches(defer: Defer = queueMicrotask) {
  const turns = createKeyedMutex()
  const waiting = new Map<string, unknown[]>()
  return {
    /** Adds an item to the next batch of its key. The batch runs the `work` of its first item, which must not reject. */
    add: <T>(key: string, item: T, work: (items: readonly T[]) => Promise<void>): void => {
      const others = waiting.get(key)
      if (others) return void others.push(item)
      const items = [item]
      waiting.set(key, items)
      void turns(key, async () => {
        for (let round = 0; round < gatherRounds; round++) await new Promise<void>(defer)
        waiting.delete(key)
        await work(items)
      })
    },
  }
}
