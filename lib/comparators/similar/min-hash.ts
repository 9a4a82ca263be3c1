import { hmacSha256, utf8 } from '../../digest.ts'
import { createSipHash, type SipHash } from './sip-hash.ts'
import { type Channel, channelSlots, channels, sketchVersion } from './sketch-layout.ts'

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

/** The key of a MinHash channel: a hash of elements, and for each slot its own order of the hashes. */
export type ChannelKey = {
  readonly hash: SipHash
  readonly factors: Int32Array
  readonly offsets: Int32Array
}

/** Every key of a job's sketches, derived from its evidence key. */
export type SketchKeys = {
  readonly text: Uint8Array<ArrayBuffer>
  readonly answer: Uint8Array<ArrayBuffer>
  readonly channels: Readonly<Record<Channel, ChannelKey>>
}

/** Derives the keys of a job's sketches. No sketch can be recomputed without the evidence key, or compared between two jobs. */
export async function deriveSketchKeys(key: Uint8Array<ArrayBuffer>): Promise<SketchKeys> {
  const { form, text } = sketchVersion
  const derive = (purpose: string) => hmacSha256(key, utf8(`svc-sketch ${form} ${text} ${purpose}`))
  const keyed = await Promise.all(
    channels.map(
      async (channel) => [channel, expand(await derive(channel), channelSlots[channel])] as const,
    ),
  )
  return {
    text: await derive('text'),
    answer: await derive('answer'),
    channels: Object.fromEntries(keyed) as Record<Channel, ChannelKey>,
  }
}

function expand(key: Uint8Array, slots: number): ChannelKey {
  const order = createSipHash(key.subarray(16))
  const factors = new Int32Array(slots)
  const offsets = new Int32Array(slots)
  for (let slot = 0; slot < slots; slot++) {
    const { low, high } = order.number(slot)
    // With an even factor two hashes could get the same rank.
    factors[slot] = low | 1
    offsets[slot] = high
  }
  return { hash: createSipHash(key), factors, offsets }
}
