import { fromBase64Url } from '../../digest.ts'
import type { Evidence } from '../../schemas/evidence.ts'
import {
  channelBytes,
  channelSlots,
  channels,
  flagBits,
  sketchBytes,
  sketchOffsets,
  sketchVersion,
} from './sketch-layout.ts'
import { lengthClassOf } from './thresholds.ts'

// How often one of the 16 values may occur in a channel, by its number of slots. In an honest sketch each value has a chance of 1 in 16 at
// each slot. By Chernoff's bound fewer than one of 10^13 sketches exceeds this in any channel.
const mostOfOneValue: Readonly<Record<number, number>> = { 512: 96, 384: 80, 128: 42, 64: 28 }

// Bytes that equal the byte at a fixed distance before. At each distance 2.5 are expected, and 40 come by chance in less than one of 10^30.
const farthestRepeat = 64
const mostRepeats = 40

/** Decodes a sketch; undefined when there is none, or it is not base64url. */
export function sketchBytesOf(sketch: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (sketch === undefined) return undefined
  try {
    return fromBase64Url(sketch)
  } catch {
    return undefined
  }
}

/** Says what is wrong with a sketch's form; undefined when `similar/2` can have made it for so many tokens. */
export function sketchMalformation(
  sketch: Uint8Array,
  tokens: Evidence['tokens'],
): string | undefined {
  if (sketch.length !== sketchBytes) {
    return `the sketch has ${sketch.length} bytes, not ${sketchBytes}`
  }
  if (sketch[0] !== sketchVersion.form || sketch[1] !== sketchVersion.text) {
    return `the sketch has version ${sketch[0]}.${sketch[1]}, not ${sketchVersion.form}.${sketchVersion.text}`
  }
  const flags = sketch[sketchOffsets.flags] ?? 0
  const known = flagBits.lengthClass | flagBits.hasLetter | flagBits.hasValue
  const isKnown = (flags & ~known) === 0
  if (!isKnown || sketch[sketchOffsets.flags + 1] !== 0) return 'the sketch has unknown flags'
  if ((flags & flagBits.lengthClass) !== lengthClassOf(tokens)) {
    return `the sketch is of another length class than ${tokens} tokens`
  }
  return isMonotonous(sketch) ? 'the sketch has hardly any entropy' : undefined
}

/** True for bytes that no keyed hash makes: constant tags, channels of mostly one value, repeated patterns. */
function isMonotonous(sketch: Uint8Array): boolean {
  const { text, letter, value, channels: end } = sketchOffsets
  const tags = [sketch.subarray(text, letter), sketch.subarray(letter, value)]
  tags.push(sketch.subarray(value, end))
  if (tags.some((tag) => tag.every((byte) => byte === tag[0]))) return true
  let at: number = sketchOffsets.channels
  for (const channel of channels) {
    const part = sketch.subarray(at, at + channelBytes(channel))
    if (mostFrequent(part) > (mostOfOneValue[channelSlots[channel]] ?? 0)) return true
    at += part.length
  }
  return isPeriodic(sketch.subarray(end))
}

function mostFrequent(part: Uint8Array): number {
  const counts = new Uint16Array(16)
  for (const byte of part) {
    counts[byte & 15] = (counts[byte & 15] ?? 0) + 1
    counts[byte >>> 4] = (counts[byte >>> 4] ?? 0) + 1
  }
  return Math.max(...counts)
}

/** True for bytes that repeat at a short distance, which no keyed hash makes. */
function isPeriodic(part: Uint8Array): boolean {
  for (let distance = 1; distance <= farthestRepeat; distance++) {
    let repeats = 0
    for (let at = distance; at < part.length; at++) if (part[at] === part[at - distance]) repeats++
    if (repeats > mostRepeats) return true
  }
  return false
}
