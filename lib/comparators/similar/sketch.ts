import { hmacSha256, utf8 } from '../../digest.ts'
import type { FinalAnswer } from './answer-tag.ts'
import { type Features, promptTrigramsOf } from './features.ts'
import { deriveSketchKeys, type SketchKeys, writeMinHash } from './min-hash.ts'
import {
  type Channel,
  channelBytes,
  channels,
  flagBits,
  sketchBytes,
  sketchOffsets,
  sketchVersion,
} from './sketch-layout.ts'
import { lengthClassOf } from './thresholds.ts'

/** Makes the sketch of an answer. Without the key it looks random. Two of one job show how much their texts share by channel, and nothing else. */
export async function sketchOf(
  features: Features,
  prompt: string,
  key: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const keys = await deriveSketchKeys(key)
  const sketch = new Uint8Array(sketchBytes)
  const { letter, value } = features.answer
  sketch[0] = sketchVersion.form
  sketch[1] = sketchVersion.text
  sketch[sketchOffsets.flags] =
    lengthClassOf(features.tokenCount) |
    (letter === undefined ? 0 : flagBits.hasLetter) |
    (value === undefined ? 0 : flagBits.hasValue)
  const text = await hmacSha256(keys.text, utf8(features.joined))
  sketch.set(text.subarray(0, 16), sketchOffsets.text)
  sketch.set(await answerTag(keys, 'letter', features), sketchOffsets.letter)
  sketch.set(await answerTag(keys, 'value', features), sketchOffsets.value)
  const sets = elementsOf(features, promptTrigramsOf(prompt))
  let at: number = sketchOffsets.channels
  for (const channel of channels) {
    writeMinHash(sets[channel], keys.channels[channel], sketch, at)
    at += channelBytes(channel)
  }
  return sketch
}

/** Tags a part of the final answer. A missing part is tagged with the whole text, so that it equals only the same text's tag. */
async function answerTag(
  keys: SketchKeys,
  part: keyof FinalAnswer,
  { answer, joined }: Features,
): Promise<Uint8Array> {
  const stated = answer[part]
  const message = stated === undefined ? `no ${part} ${joined}` : `${part} ${stated}`
  return (await hmacSha256(keys.answer, utf8(message))).subarray(0, 8)
}

const elementsOf = (
  features: Features,
  promptTrigrams: ReadonlySet<string>,
): Readonly<Record<Channel, ReadonlySet<string>>> => ({
  ...features,
  trigrams: new Set([...features.trigrams].filter((one) => !promptTrigrams.has(one))),
})
