import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Chain, StoredKey } from './chain.ts'

const cachedMs = 2_000
const mostKept = 10_000

type Known = { readonly at: MonotonicMs; readonly key: Promise<StoredKey | undefined> }

/** The chain with stored keys, and their absence, cached for 2 s, except with `now`. Requests share a read, each within its own budget. */
export function rememberingStoredKeys(chain: Chain, clock: Pick<Clock, 'monotonic'>): Chain {
  const known = new Map<string, Known>()
  const forgetOld = () => {
    for (const [name, { at }] of known) {
      if (known.size <= mostKept && elapsedSince(clock, at) < cachedMs) return
      known.delete(name)
    }
  }
  const lookUp = (name: string, look: () => Promise<StoredKey | undefined>) => {
    const entry = { at: clock.monotonic(), key: look() }
    known.set(name, entry)
    entry.key.catch(() => {
      if (known.get(name) === entry) known.delete(name)
    })
    return entry
  }
  const storedKeyAt: Chain['storedKeyAt'] = (owner, high, low, blockNumber, when) => {
    const look = () => chain.storedKeyAt(owner, high, low, blockNumber)
    if (when === 'now') return look()
    forgetOld()
    const name = `${owner}:${high}:${low}:${blockNumber}`
    const entry = known.get(name) ?? lookUp(name, look)
    return entry.key
  }
  return new Proxy(chain, {
    get: (target, name): unknown =>
      name === 'storedKeyAt' ? storedKeyAt : Reflect.get(target, name, target),
  })
}
