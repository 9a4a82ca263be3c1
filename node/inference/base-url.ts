import { hostOf, parseIpAddress } from '../../lib/ip-address.ts'

// Loopback, and the ranges that routers of the internet do not forward.
const privateRanges: readonly string[] = [
  'loopback',
  'private',
  'carrierGradeNat',
  'linkLocal',
  'uniqueLocal',
]

// A name without a dot is one of containers or of a local network.
const privateName = /^[^.:]+$|\.(localhost|local|internal|lan|home\.arpa|svc)$/

/** True for hosts of this machine or of a private network, as far as the address shows. */
function isPrivate(url: string): boolean {
  const host = hostOf(new URL(url))
  const address = parseIpAddress(host)
  return address ? privateRanges.includes(address.range()) : privateName.test(host)
}

/** Whether prompts and keys that are sent there can be read on the way through a public network. */
export const isExposed = (url: string): boolean =>
  new URL(url).protocol === 'http:' && !isPrivate(url)

/** A base URL with `path` when it has none of its own. */
export function withDefaultPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl)
  return url.pathname === '/' ? `${url.origin}${path}` : baseUrl
}
