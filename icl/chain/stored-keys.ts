import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Chain, StoredKey } from './chain.ts'

const cachedMs = 2_000
const mostKept = 10_000

/** Stored keys by their handles and block. */
export type StoredKeys = {
  /** Asks the chain of the request, within its budget; throws `key-unknown` when the block has no such key, and what the chain throws. */
  find(
    chain: Pick<Chain, 'storedKeyAt'>,
    high: bigint,
    low: bigint,
    blockNumber: bigint,
  ): Promise<StoredKey>
}

/** Stored keys as the chain shows them, remembered for 2 s, absence too: asking again costs the chain nothing. */
export function createStoredKeys(clock: Pick<Clock, 'monotonic'>): StoredKeys {
  const known = new Map<
    string,
    { readonly at: MonotonicMs; readonly key: Promise<StoredKey | undefined> }
  >()
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
  return {
    find: async (chain, high, low, blockNumber) => {
      forgetOld()
      const name = `${high}:${low}:${blockNumber}`
      const entry = known.get(name) ?? lookUp(name, () => chain.storedKeyAt(high, low, blockNumber))
      const key = await entry.key
      if (key) return key
      throw new ProblemError(
        'key-unknown',
        `PromptKeyStore has stored no such key in block ${blockNumber}, as far as the ICL can see`,
        { retryAfterSeconds: cachedMs / 1000 },
      )
    },
  }
}
