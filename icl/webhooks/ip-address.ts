/** An IPv4 address (4 bytes) or an IPv6 address (16 bytes) from its text; undefined for anything else. */
export function parseIpAddress(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text)
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  // A leading zero means octal to some, and decimal to others.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) {
    return undefined
  }
  const bytes = parts.map(Number)
  return bytes.every((byte) => byte <= 255) ? Uint8Array.from(bytes) : undefined
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map(bytesOfGroups)
  if (!head || (halves.length === 2 && !tail)) return undefined
  if (halves.length === 1) return head.length === 16 ? Uint8Array.from(head) : undefined
  const missing = 16 - head.length - (tail?.length ?? 0)
  if (missing < 2) return undefined
  return Uint8Array.from([...head, ...new Array<number>(missing).fill(0), ...(tail ?? [])])
}

/** The bytes of groups between colons, the last of which may be an IPv4 address. */
function bytesOfGroups(text: string): readonly number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  const bytes: number[] = []
  for (const [index, group] of groups.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 255)
    } else {
      const ipv4 = index === groups.length - 1 ? parseIpv4(group) : undefined
      if (!ipv4) return undefined
      bytes.push(...ipv4)
    }
  }
  return bytes
}
