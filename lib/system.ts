import { type Clock, monotonicMs } from './clock.ts'
import type { Fetch } from './outgoing.ts'
import type { Random } from './random.ts'

/** The host's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => monotonicMs(performance.now()),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
  after: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
}

/** The host's cryptographic generator. */
export const systemRandom: Random = {
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
}

/** The fetch of a page, without the rules for proxies that `systemFetch` has. */
export const pageFetch: Fetch = (request) => fetch(request)
