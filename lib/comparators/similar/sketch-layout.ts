/** The versions of the sketch and of its normalisation, its first two bytes. A change of either makes sketches incomparable. */
export const sketchVersion = { form: 1, text: 1 } as const

/** The MinHash channels of a sketch, with their numbers of four-bit slots. */
export const channelSlots = {
  trigrams: 512,
  words: 384,
  numbers: 128,
  names: 128,
  negators: 64,
  links: 64,
} as const

/** A feature that two sketches are compared by. */
export type Channel = keyof typeof channelSlots

/** The channels in the order of the sketch. */
export const channels = Object.keys(channelSlots) as readonly Channel[]

/** The offsets of a sketch's parts, in bytes. A zero byte precedes `text`. */
export const sketchOffsets = { flags: 2, text: 4, letter: 20, value: 28, channels: 36 } as const

/** Bytes of a channel. */
export const channelBytes = (channel: Channel): number => channelSlots[channel] / 2

/** Bytes of a sketch. */
export const sketchBytes: number = channels.reduce<number>(
  (length, channel) => length + channelBytes(channel),
  sketchOffsets.channels,
)

/** The flags byte: two bits of length class, and whether the final answer has an option's letter and a value. */
export const flagBits = { lengthClass: 0b11, hasLetter: 0b100, hasValue: 0b1000 } as const
