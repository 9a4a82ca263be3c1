import { isPrivate } from './ip-address.ts'
import type { Fetch } from './outgoing.ts'
import { ProxyFailed, proxyFor } from './proxy.ts'

/**
 * The host's fetch. Bun continues to unpack an answer whose reader has left, so it must not begin, and would send also what is for this machine
 * and private networks, over plain http, to a proxy of the environment. Deno does that too, and has only NO_PROXY against it: it and Node
 * ignore these options. Throws ProxyFailed.
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
