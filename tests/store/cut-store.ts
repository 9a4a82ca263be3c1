import type { Store } from '../../icl/store/store.ts'
import { ProblemError } from '../../lib/problem.ts'

/** How a connection fails: at once, after the database has done what it was asked to, or without ever saying so, done (`mute`, `late`) or not. */
export type Cut = 'none' | 'before' | 'after' | 'silent' | 'mute' | 'late'

/** A store, or another part with asynchronous calls, behind a connection that a test can cut. */
export type CutStore<T extends object = Store> = {
  readonly store: T
  /** Decides for every call. */
  cut: Cut | ((name: string) => Cut)
  /** Calls that came through, failed or not. */
  calls: number
}

const lost = () => new ProblemError('unavailable', 'The connection is cut')

/** Puts a connection that can be cut before a store. What is `late` is done after `delay`, when its caller may have given up. */
export function createCutStore<T extends object = Store>(
  store: T,
  delay: () => Promise<void> = () => Promise.resolve(),
): CutStore<T> {
  const cutStore: CutStore<T> = {
    cut: 'none',
    calls: 0,
    store: new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        const isLocal = ['status', 'close', 'scan', 'drop'].includes(String(name))
        if (typeof value !== 'function' || isLocal) return value
        const through = async (work: () => unknown): Promise<unknown> => {
          cutStore.calls++
          const cut = typeof cutStore.cut === 'function' ? cutStore.cut(String(name)) : cutStore.cut
          if (cut === 'before') throw lost()
          if (cut === 'silent') return new Promise(() => {})
          if (cut === 'late') await delay()
          const answer: unknown = await work()
          if (cut === 'mute') return new Promise(() => {})
          if (cut === 'after' || cutStore.cut === 'before') throw lost()
          return answer
        }
        if (name !== 'sweep' && name !== 'forget')
          return (...args: unknown[]) => through(() => value(...args))
        return async function* (...args: unknown[]) {
          const pages: AsyncIterator<unknown> = value(...args)
          while (!((await through(() => pages.next())) as IteratorResult<unknown>).done) yield
        }
      },
    }),
  }
  return cutStore
}
