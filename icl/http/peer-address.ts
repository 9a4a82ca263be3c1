import { isPrivateAddress, parseIpAddress } from '../../lib/ip-address.ts'

/**
 * Returns the address that a request counts for. It is the socket's. Behind `trustedProxies` proxies, which each append to X-Forwarded-For,
 * it is the one that the outermost proxy saw. Entries that the caller wrote are to the left of it.
 */
export function callerAddress(
  socketAddress: string | undefined,
  forwardedFor: string | null,
  trustedProxies: number,
): string {
  const socket = networkOf(socketAddress ?? '') ?? 'unknown'
  if (trustedProxies === 0 || forwardedFor === null) return socket
  const hops = forwardedFor.split(',').map((hop) => hop.trim())
  const hop = hops[Math.max(0, hops.length - trustedProxies)]
  return networkOf(hop ?? '') ?? socket
}

/**
 * Makes a check that warns once when X-Forwarded-For and `trustedProxies` do not fit: a proxy of this network adds it and none is trusted,
 * or a request for the API comes without it although proxies are. What strangers send to an ICL without a proxy is no sign.
 */
export function createForwardingCheck(trustedProxies: number, warn: (text: string) => void) {
  let hasWarned = false
  return (path: () => string, socketAddress: string | undefined, forwardedFor: string | null) => {
    if (hasWarned || trustedProxies > 0 === (forwardedFor !== null)) return
    const isSign = trustedProxies > 0 ? path().startsWith('/v1/') : isPrivateAddress(socketAddress)
    if (!isSign) return
    hasWarned = true
    warn(
      trustedProxies > 0
        ? `A request came without X-Forwarded-For, and SVC_ICL_TRUSTED_PROXIES is ${trustedProxies}: the proxy does not add it, or callers come past the proxy`
        : 'A proxy sends X-Forwarded-For, and SVC_ICL_TRUSTED_PROXIES is 0: all callers behind it share one allowance',
    )
  }
}

// Parsed addresses are kept, because the same callers come again.
const mostKnown = 4_096
const known = new Map<string, string | undefined>()

function networkOf(text: string): string | undefined {
  // No address is that long. A caller who writes the header fills no memory.
  if (text.length > 100) return undefined
  if (!known.has(text)) {
    if (known.size >= mostKnown) known.clear()
    known.set(text, parsedNetwork(text))
  }
  return known.get(text)
}

/** An IPv4 address, or the /64 network of an IPv6 address, which one caller has to itself. Undefined for anything else. */
function parsedNetwork(text: string): string | undefined {
  // Some proxies add the caller's port.
  const [, ipv6, ipv4] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? []
  const address = parseIpAddress((ipv6 ?? ipv4 ?? text).replace(/%.*$/, ''))
  if (address === undefined || !('parts' in address)) return address?.toString()
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString()
  const groups = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${groups.join(':')}::/64`
}
