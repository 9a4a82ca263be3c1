import ipaddr from 'ipaddr.js'

/** An IP address of `ipaddr.js`: bytes, ranges, text. */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

const longestText = 45

/** Parses an IP address in its standard form; undefined for other text, such as octal or hexadecimal numbers, fewer parts, zones, spaces. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > longestText) return undefined
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text)) return undefined
  // The library reads ::1.2.3.4 as ::ffff:1.2.3.4. The URL standard reads it as written, and returns only hexadecimal groups.
  const url = `http://[${text}]`
  return URL.canParse(url) ? ipaddr.IPv6.parse(hostOf(new URL(url))) : undefined
}

/** The host of a URL, without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** True for URLs whose host is this machine: `localhost` and loopback addresses. */
export function isLoopback(url: string): boolean {
  const host = hostOf(new URL(url))
  return host === 'localhost' || isLoopbackAddress(host)
}

/** True for the addresses of this machine alone. */
export const isLoopbackAddress = (text: string): boolean => rangeOf(text) === 'loopback'

// Loopback, and ranges that internet routers do not forward.
const privateRanges: readonly string[] = [
  'loopback',
  'private',
  'carrierGradeNat',
  'linkLocal',
  'uniqueLocal',
]

// A name without a dot belongs to a container or a local network.
const privateName = /^[^.:]+$|\.(localhost|local|internal|lan|home\.arpa|svc)$/

/** True for hosts of this machine or of a private network, as far as the name or address shows. */
export function isPrivate(url: string): boolean {
  const host = hostOf(new URL(url))
  return parseIpAddress(host) ? isPrivateAddress(host) : privateName.test(host)
}

/** True for addresses of this machine or of a private network. */
export function isPrivateAddress(text = ''): boolean {
  return privateRanges.includes(rangeOf(text) ?? '')
}

/** The range of an address, of an IPv4 address also where it is written as IPv6. */
function rangeOf(text: string): string | undefined {
  const address = parseIpAddress(text)
  const isMapped = address && 'parts' in address && address.isIPv4MappedAddress()
  return (isMapped ? address.toIPv4Address() : address)?.range()
}

/** True for a URL whose messages others can read and change in transit: plain http to a public network. */
export const isExposed = (url: string): boolean =>
  new URL(url).protocol === 'http:' && !isPrivate(url)

/** Why an exposed URL is refused, as a rule for settings. */
export const mustNotBeExposed =
  'must be https: plain http is for this machine and private networks, where nobody else reads or changes messages'

/** True for a URL of scheme, host and port alone, of which nothing would be dropped as an origin. */
export function isOrigin(url: string): boolean {
  const { pathname, search, hash, username, password } = new URL(url)
  return pathname === '/' && [search, hash, username, password].every((part) => part === '')
}

/** Why another URL than an origin is refused, as a rule for settings. */
export const mustBeOrigin =
  'must be scheme, host and port only, such as https://icl.example: an ICL has a host of its own, and no path'
