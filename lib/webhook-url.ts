import ipaddr from 'ipaddr.js'
import { hostOf, type IpAddress, parseIpAddress } from './ip-address.ts'

/** Returns why messages are not sent to a URL; undefined when its form is allowed. What its name resolves to is checked when it is used. */
export function whyRefused(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) return 'it cannot be read'
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return 'it must begin with https://'
  }
  if (url.username !== '' || url.password !== '') return 'it must not name a user or a password'
  if (!allowPrivate && isClosedHost(hostOf(url))) return 'it must name a server of the internet'
  return undefined
}

const closedNames = /^(?:[^.]+|.*\.(?:localhost|local|internal|home\.arpa))\.?$/i

const isClosedHost = (host: string): boolean =>
  parseIpAddress(host) ? !isPublicAddress(host) : closedNames.test(host)

/** The global unicast addresses of IPv6; all others are special or not assigned. */
const openIpv6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** NAT64: the IPv4 address is in the last 4 bytes. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/** The metadata server of one cloud, in a range that is otherwise public. */
const metadataServer = '168.63.129.16'

/**
 * True for an address on the public internet. False for the ranges of IANA's special-purpose registries, for unassigned
 * addresses, and for text that is no address.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text)
  return address !== undefined && isPublic(address)
}

function isPublic(address: IpAddress): boolean {
  if (address instanceof ipaddr.IPv4) {
    return address.range() === 'unicast' && address.toString() !== metadataServer
  }
  if (address.isIPv4MappedAddress() || address.match(nat64)) {
    return isPublic(new ipaddr.IPv4(address.toByteArray().slice(12)))
  }
  return address.match(openIpv6) && address.range() === 'unicast'
}
