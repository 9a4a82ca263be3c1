import { BlockList, isIPv6 } from 'node:net'
import { isLoopback } from '../../lib/loopback.ts'

const privateRanges = new BlockList()
for (const [address, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateRanges.addSubnet(address, bits, 'ipv4')
}
privateRanges.addSubnet('fc00::', 7, 'ipv6')
privateRanges.addSubnet('fe80::', 10, 'ipv6')

// A name without a dot is one of containers or of a local network.
const privateName = /^[^.:]+$|\.(localhost|local|internal|lan|home\.arpa|svc)$/

/** True for hosts of this machine or of a private network, as far as the address shows. */
function isPrivate(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
  if (isLoopback(url) || privateName.test(host)) return true
  return privateRanges.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')
}

/** Whether prompts and keys that are sent there can be read on the way through a public network. */
export const isExposed = (url: string): boolean =>
  new URL(url).protocol === 'http:' && !isPrivate(url)

/** A base URL with `path` when it has none of its own. */
export function withDefaultPath(baseUrl: string, path: string): string {
  const url = new URL(baseUrl)
  return url.pathname === '/' ? `${url.origin}${path}` : baseUrl
}
