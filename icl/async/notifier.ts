import type { Clock } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { callAfter } from '../../lib/deadline.ts'
import { createHoldTable, type HoldTable } from './hold-table.ts'

/** Lets requests of this process wait for news under a key. */
export interface Notifier {
  /** Resolves at the next `notify` of any of the keys, after `ms`, or when the signal aborts. Never rejects. */
  wait(keys: readonly string[], ms: number, signal?: AbortSignal): Promise<void>
  /** A cheaper form of `wait` for very many callers. `notify`, `notifyAll` and `close` wake its rows, too. */
  readonly held: Pick<HoldTable, 'hold' | 'drop'>
  notify(key: string): void
  /** Ends every wait for news of jobs and nodes. */
  notifyAll(): void
  /** True while a caller waits for news of a job or a node. */
  readonly isAwaited: boolean
  /** Says that the process stops soon: it is not ready, and each response ends its connection. Waits last until `close`. */
  leave(): void
  /** True once the process stops soon, or has begun to. */
  readonly leaving: boolean
  /** Ends every wait, and every later `wait` at once, because the process is stopping. */
  close(): void
  readonly closed: boolean
}

/** Creates a notifier. */
export function createNotifier(clock: Clock): Notifier {
  const waiting = new Map<string, Set<() => void>>()
  const held = createHoldTable(clock)
  let closed = false
  let leaving = false
  return {
    get leaving() {
      return leaving || closed
    },
    leave: () => {
      leaving = true
    },
    get closed() {
      return closed
    },
    close: () => {
      closed = true
      for (const dones of [...waiting.values()]) for (const done of [...dones]) done()
      held.notifyAll()
    },
    held,
    wait: (keys, ms, signal) =>
      new Promise((resolve) => {
        let cancel = () => {}
        const done = () => {
          for (const key of keys) {
            const others = waiting.get(key)
            others?.delete(done)
            if (others?.size === 0) waiting.delete(key)
          }
          signal?.removeEventListener('abort', done)
          cancel()
          resolve()
        }
        for (const key of keys) {
          const others = waiting.get(key) ?? new Set()
          waiting.set(key, others.add(done))
        }
        if (signal?.aborted || closed) return done()
        signal?.addEventListener('abort', done, { once: true })
        cancel = callAfter(clock, ms, done)
      }),
    notify: (key) => {
      for (const done of [...(waiting.get(key) ?? [])]) done()
      held.notify(key)
    },
    notifyAll: () => {
      for (const [key, dones] of [...waiting]) {
        if (!forWorkers.has(key)) for (const done of [...dones]) done()
      }
      held.notifyAll()
    },
    get isAwaited() {
      return held.size > 0 || [...waiting.keys()].some((key) => !forWorkers.has(key))
    },
  }
}

// Job ids are longer than addresses, so keys of both never collide. A key is the id itself, which costs a waiting caller no new string.
/** News about a job's state. */
export const jobKey = (jobId: JobId): string => jobId
/** News about a node's offers. */
export const nodeKey = (address: Address): string => address
/** News that a job may have left room for another. */
export const roomKey = 'room'
/** News for the background workers: an effect may be due. */
export const dueKey = 'due'
/** News for the background workers: a seat may be filled. */
export const tickKey = 'tick'

const forWorkers: ReadonlySet<string> = new Set([dueKey, tickKey])
