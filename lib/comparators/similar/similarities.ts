import { equalBytes } from '../../digest.ts'
import {
  type Channel,
  channelBytes,
  channelSlots,
  channels,
  flagBits,
  sketchOffsets,
} from './sketch-layout.ts'
import { type LengthClass, lengthClasses } from './thresholds.ts'

/** The likeness of two sketches. */
export type Likeness = {
  /** The texts are equal but for formatting. */
  readonly sameText: boolean
  /** Missing when one has no recognised final answer. */
  readonly sameAnswer?: boolean
  readonly shorter: LengthClass
  readonly longer: LengthClass
  /** The estimated share of common elements by channel, in thousandths; 1000 only when every slot agrees. */
  readonly shared: Readonly<Record<Channel, number>>
}

/** Compares two well-formed sketches without a key. Uses integers, so everybody gets the same result. */
export function likenessOf(a: Uint8Array, b: Uint8Array): Likeness {
  const same = (from: number, length: number): boolean =>
    equalBytes(a.subarray(from, from + length), b.subarray(from, from + length))
  const flagsA = a[sketchOffsets.flags] ?? 0
  const flagsB = b[sketchOffsets.flags] ?? 0
  // A letter in one and a value in the other cannot be compared.
  const bothAnswer = (flagsA & flagsB & (flagBits.hasLetter | flagBits.hasValue)) !== 0
  const lengths = [flagsA & flagBits.lengthClass, flagsB & flagBits.lengthClass]
  let at: number = sketchOffsets.channels
  const shared = channels.map((channel) => {
    const from = at
    at += channelBytes(channel)
    return [channel, sharedIn(a, b, from, channelSlots[channel])] as const
  })
  return {
    sameText: same(sketchOffsets.text, 16),
    ...(bothAnswer && {
      sameAnswer: same(sketchOffsets.letter, 8) || same(sketchOffsets.value, 8),
    }),
    shorter: lengthClasses[Math.min(...lengths)] ?? 'short',
    longer: lengthClasses[Math.max(...lengths)] ?? 'long',
    shared: Object.fromEntries(shared) as Record<Channel, number>,
  }
}

/** The agreeing slots less those that agree by chance (one of 16), in thousandths of the rest. */
function sharedIn(a: Uint8Array, b: Uint8Array, from: number, slots: number): number {
  let agreeing = 0
  for (let at = from; at < from + slots / 2; at++) {
    const difference = (a[at] ?? 0) ^ (b[at] ?? 0)
    if ((difference & 0x0f) === 0) agreeing++
    if ((difference & 0xf0) === 0) agreeing++
  }
  return Math.max(0, Math.floor(((16 * agreeing - slots) * 1_000) / (15 * slots)))
}
