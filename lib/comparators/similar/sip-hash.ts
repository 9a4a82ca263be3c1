/** SipHash-2-4 with one key: a keyed hash for many small inputs, which reveals nothing of them without the key. */
export type SipHash = {
  /** Hashes the first `length` bytes. */
  bytes(message: Uint8Array, length?: number): SipTag
  /** Hashes a text as UTF-8. */
  text(message: string): SipTag
  /** Hashes one unsigned 32-bit number, little endian. */
  number(message: number): SipTag
}

/** A 64-bit tag as two signed halves. The next hash overwrites it. */
type SipTag = { low: number; high: number }

const encoder = new TextEncoder()

/** SipHash-2-4 with the first 16 bytes of `key`. */
export function createSipHash(key: Uint8Array): SipHash {
  if (key.length < 16) throw new RangeError('SipHash needs 16 key bytes')
  const view = new DataView(key.buffer, key.byteOffset, 16)
  const words = Int32Array.from([0, 4, 8, 12], (offset) => view.getInt32(offset, true))
  const tag: SipTag = { low: 0, high: 0 }
  let buffer = new Uint8Array(512)
  const bytes = (message: Uint8Array, length = message.length): SipTag => {
    hash(words, message, length, tag)
    return tag
  }
  return {
    bytes,
    text: (message) => {
      if (buffer.length < message.length * 3) buffer = new Uint8Array(message.length * 3)
      return bytes(buffer, encoder.encodeInto(message, buffer).written)
    },
    number: (message) => {
      new DataView(buffer.buffer).setUint32(0, message, true)
      return bytes(buffer, 4)
    },
  }
}

/** The reference algorithm on 32-bit halves: a is v0, b is v1, c is v2, d is v3. */
function hash(key: Int32Array, message: Uint8Array, length: number, tag: SipTag): void {
  const [k0 = 0, k1 = 0, k2 = 0, k3 = 0] = key
  let aLow = k0 ^ 0x70736575
  let aHigh = k1 ^ 0x736f6d65
  let bLow = k2 ^ 0x6e646f6d
  let bHigh = k3 ^ 0x646f7261
  let cLow = k0 ^ 0x6e657261
  let cHigh = k1 ^ 0x6c796765
  let dLow = k2 ^ 0x79746573
  let dHigh = k3 ^ 0x74656462
  let sum = 0
  let kept = 0
  const round = (): void => {
    sum = (aLow >>> 0) + (bLow >>> 0)
    aLow = sum | 0
    aHigh = (aHigh + bHigh + carryOf(sum)) | 0
    kept = (bLow << 13) | (bHigh >>> 19)
    bHigh = ((bHigh << 13) | (bLow >>> 19)) ^ aHigh
    bLow = kept ^ aLow
    kept = aLow
    aLow = aHigh
    aHigh = kept
    sum = (cLow >>> 0) + (dLow >>> 0)
    cLow = sum | 0
    cHigh = (cHigh + dHigh + carryOf(sum)) | 0
    kept = (dLow << 16) | (dHigh >>> 16)
    dHigh = ((dHigh << 16) | (dLow >>> 16)) ^ cHigh
    dLow = kept ^ cLow
    sum = (aLow >>> 0) + (dLow >>> 0)
    aLow = sum | 0
    aHigh = (aHigh + dHigh + carryOf(sum)) | 0
    kept = (dLow << 21) | (dHigh >>> 11)
    dHigh = ((dHigh << 21) | (dLow >>> 11)) ^ aHigh
    dLow = kept ^ aLow
    sum = (cLow >>> 0) + (bLow >>> 0)
    cLow = sum | 0
    cHigh = (cHigh + bHigh + carryOf(sum)) | 0
    kept = (bLow << 17) | (bHigh >>> 15)
    bHigh = ((bHigh << 17) | (bLow >>> 15)) ^ cHigh
    bLow = kept ^ cLow
    kept = cLow
    cLow = cHigh
    cHigh = kept
  }
  for (let at = 0; at <= length; at += 8) {
    const low = wordAt(message, at, length)
    // The last block ends with the length.
    const high = wordAt(message, at + 4, length) | (at + 8 > length ? (length & 0xff) << 24 : 0)
    dLow ^= low
    dHigh ^= high
    round()
    round()
    aLow ^= low
    aHigh ^= high
  }
  cLow ^= 0xff
  for (let last = 0; last < 4; last++) round()
  tag.low = aLow ^ bLow ^ cLow ^ dLow
  tag.high = aHigh ^ bHigh ^ cHigh ^ dHigh
}

const carryOf = (sum: number): number => (sum > 0xffffffff ? 1 : 0)

const wordAt = (message: Uint8Array, at: number, length: number): number =>
  byteAt(message, at, length) |
  (byteAt(message, at + 1, length) << 8) |
  (byteAt(message, at + 2, length) << 16) |
  (byteAt(message, at + 3, length) << 24)

const byteAt = (message: Uint8Array, at: number, length: number): number =>
  at < length ? (message[at] ?? 0) : 0
