import { parseIpAddress } from './ip-address.ts'

/** A range of addresses: the first of them, and how many of its bits they share. */
type Range = { readonly start: Uint8Array; readonly bits: number }

function range(text: string): Range {
  const [address = '', bits] = text.split('/')
  const start = parseIpAddress(address)
  if (!start) throw new TypeError(`${text} is no range of addresses`)
  return { start, bits: Number(bits) }
}

/** What is no server of the public internet (IANA's special-purpose registries), and one cloud's metadata server. */
const closedIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
].map(range)

/** Of IPv6 only the global unicast addresses are open, and of them not those that are reserved or that lead into other networks. */
const openIpv6 = range('2000::/3')
const closedIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map(range)

/** Addresses that stand for the IPv4 address in their last 4 bytes. */
const ipv4InIpv6 = ['::ffff:0:0/96', '64:ff9b::/96'].map(range)

/** True for the address of a server that anybody on the internet can reach; false for whatever is not such an address. */
export function isPublicAddress(text: string): boolean {
  const bytes = parseIpAddress(text)
  if (!bytes) return false
  if (bytes.length === 4) return !isInAny(bytes, closedIpv4)
  if (isInAny(bytes, ipv4InIpv6)) return !isInAny(bytes.slice(12), closedIpv4)
  return isIn(bytes, openIpv6) && !isInAny(bytes, closedIpv6)
}

const isInAny = (bytes: Uint8Array, ranges: readonly Range[]): boolean =>
  ranges.some((one) => isIn(bytes, one))

function isIn(bytes: Uint8Array, { start, bits }: Range): boolean {
  if (start.length !== bytes.length) return false
  return start.every((byte, index) => {
    const mask = (0xff00 >> Math.min(8, Math.max(0, bits - 8 * index))) & 0xff
    return ((byte ^ (bytes[index] ?? 0)) & mask) === 0
  })
}
