const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * The address that a request is counted under: the socket's, or, behind `trustedProxies` proxies that each append to
 * X-Forwarded-For, the one that the outermost of them saw. Whatever a caller wrote there itself stands further left.
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

/** An IPv4 address, or the /64 of an IPv6 address, which one caller has to itself; undefined for anything else. */
function networkOf(text: string): string | undefined {
  const address = mapped.exec(text)?.[1] ?? text.replace(/%.*$/, '')
  if (ipv4.test(address)) return address
  const groups = ipv6Groups(address)
  return groups && `${groups.slice(0, 4).join(':')}::/64`
}

function ipv6Groups(text: string): readonly string[] | undefined {
  if (text.length > 45 || !/^[0-9a-fA-F:]+$/.test(text)) return undefined
  const halves = text.split('::')
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const missing = 8 - head.length - tail.length
  const isWhole = halves.length === 1 ? missing === 0 : halves.length === 2 && missing > 0
  const groups = [...head, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...tail]
  if (!isWhole || !groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined
  return groups.map((group) => Number.parseInt(group, 16).toString(16))
}
