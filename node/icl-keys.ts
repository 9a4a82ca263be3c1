import type { Api } from '../lib/api.ts'

/** The keys that the ICL publishes. */
export interface IclKeys {
  /** Whether the ICL publishes this key, or did when it was asked last. Throws the errors of the ICL's client. */
  has(key: string, signal?: AbortSignal): Promise<boolean>
}

const attempts = 5

/** Fetches the ICL's keys on first use, and again when a key is not among them, because the ICL may have a new one. */
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
