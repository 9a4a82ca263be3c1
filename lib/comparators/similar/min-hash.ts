import type { ChannelKey } from './sketch-keys.ts'

/**
 * Writes the b-bit MinHash of a set into `out` from `at` on, four bits a slot. Two sets agree in a slot with the probability of their
 * Jaccard similarity, and otherwise by chance in one of 16. An empty set counts as a set with one special element.
 */
export function writeMinHash(
  set: ReadonlySet<string>,
  { hash, factors, offsets }: ChannelKey,
  out: Uint8Array,
  at: number,
): void {
  const least = new Uint32Array(factors.length).fill(0xffffffff)
  const elements = set.size === 0 ? [''] : Array.from(set, (element) => `+${element}`)
  for (const element of elements) {
    const { low, high } = hash.text(element)
    for (let slot = 0; slot < least.length; slot++) {
      const place = placeOf(low, high, factors[slot] ?? 0, offsets[slot] ?? 0)
      if (place < (least[slot] ?? 0)) least[slot] = place
    }
  }
  for (let slot = 0; slot < least.length; slot += 2) {
    out[at + slot / 2] = ((least[slot] ?? 0) & 15) | (((least[slot + 1] ?? 0) & 15) << 4)
  }
}

/** Returns the rank of a hash in a slot's order. The multiplications and shifts mix each bit into all others. */
function placeOf(low: number, high: number, factor: number, offset: number): number {
  let mixed = Math.imul(low ^ offset, factor)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ high, 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (mixed ^ (mixed >>> 15)) >>> 0
}
