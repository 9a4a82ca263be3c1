const sequence = 0x30

/** Returns the DER sequence (a certificate is one) at the start of the bytes, without what follows. Undefined when there is none. */
export function firstSequence(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const [tag, first = 0] = bytes
  if (tag !== sequence) return undefined
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (lengthBytes > 2 || first === 0x80) return undefined
  let length = lengthBytes === 0 ? first : 0
  for (const byte of bytes.subarray(2, 2 + lengthBytes)) length = length * 256 + byte
  const end = 2 + lengthBytes + length
  return length === 0 || end > bytes.length ? undefined : new Uint8Array(bytes.subarray(0, end))
}

/** Returns the consecutive DER sequences at the start of the bytes. */
export function allSequences(bytes: Uint8Array): readonly Uint8Array<ArrayBuffer>[] {
  const found: Uint8Array<ArrayBuffer>[] = []
  for (let offset = 0; ; ) {
    const next = firstSequence(bytes.subarray(offset))
    if (next === undefined) return found
    found.push(next)
    offset += next.length
  }
}

/** True when the bytes contain the part. */
export function includesBytes(bytes: Uint8Array, part: Uint8Array): boolean {
  const [first] = part
  if (first === undefined) return true
  for (let start = bytes.indexOf(first); start >= 0; start = bytes.indexOf(first, start + 1)) {
    if (start + part.length > bytes.length) return false
    if (part.every((byte, index) => bytes[start + index] === byte)) return true
  }
  return false
}
