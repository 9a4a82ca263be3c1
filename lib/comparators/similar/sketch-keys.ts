import { hmacSha256, utf8 } from '../../digest.ts'
import { createSipHash, type SipHash } from './sip-hash.ts'
import { type Channel, channelSlots, channels, sketchVersion } from './sketch-layout.ts'

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
