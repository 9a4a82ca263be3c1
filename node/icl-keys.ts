import type { Api } from '../lib/api.ts'

/** The keys that the ICL publishes. */
export interface IclKeys {
  /** Whether the ICL publishes this key now or did so when it was asked last; throws what the ICL's client throws. */
  has(key: string, signal?: AbortSignal): Promise<boolean>
}

const attempts = 5

/** Asks the ICL for its keys the first time, and when a key is not among those that it gave: it may have a new one. */
export function createIclKeys(api: Pick<Api, 'getJwks'>): IclKeys {
  let known: ReadonlySet<string> = new Set()
  return {
    async has(key, signal) {
      if (known.has(key)) return true
      const { keys } = await api.getJwks({}, { attempts, signal })
      known = new Set(keys.map(({ x }) => x))
      return known.has(key)
    },
  }
}
