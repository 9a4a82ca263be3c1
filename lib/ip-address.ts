import ipaddr from 'ipaddr.js'

/** An IP address as `ipaddr.js` has it: bytes, ranges, text. */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

const longestText = 45

/**
 * Parses an IP address in its standard text form. Returns undefined for everything else, also for forms that programs read
 * differently: octal or hexadecimal numbers, fewer than four parts, zones, spaces.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > longestText) return undefined
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text)) return undefined
  // The library reads ::1.2.3.4 as ::ffff:1.2.3.4. The URL standard reads it as written, and gives hexadecimal groups only.
  const url = `http://[${text}]`
  return URL.canParse(url) ? ipaddr.IPv6.parse(hostOf(new URL(url))) : undefined
}

/** The host of a URL, without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** True for URLs whose host is this machine: `localhost` and loopback addresses. */
export function isLoopback(url: string): boolean {
  const host = hostOf(new URL(url))
  return host === 'localhost' || parseIpAddress(host)?.range() === 'loopback'
}
