import { type Clock, monotonicMs } from './clock.ts'
import { isPrivate } from './ip-address.ts'
import type { Fetch } from './outgoing.ts'
import { ProxyFailed, proxyFor } from './proxy.ts'
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
}

/** The host's cryptographic generator. */
export const systemRandom: Random = {
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
}

/**
 * The host's fetch. Bun goes on unpacking an answer whose reader has left, so it must not begin, and would send also what is for this machine
 * and private networks, over plain http, to a proxy of the environment. The other runtimes ignore these options. Throws ProxyFailed.
 */
export const systemFetch: Fetch = async (request) => {
  const { url, signal } = request
  const options = { decompress: false, ...(isPrivate(url) && { proxy: false }) }
  try {
    return await fetch(request, options as RequestInit)
  } catch (error) {
    const proxy = signal.aborted ? undefined : proxyFor(url)
    throw proxy === undefined ? error : new ProxyFailed(proxy, url, error)
  }
}
