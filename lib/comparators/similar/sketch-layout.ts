/** The version of the sketch and of the normalisation under it: its first two bytes; a change of either makes sketches incomparable. */
export const sketchVersion = { form: 1, text: 1 } as const

/** The MinHash channels of a sketch, each so many slots of four bits. */
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

/** The channels in the order in which they stand. */
export const channels = Object.keys(channelSlots) as readonly Channel[]

/** Where the parts of a sketch begin, in bytes; a zero byte stands before `text`. */
export const sketchOffsets = { flags: 2, text: 4, letter: 20, value: 28, channels: 36 } as const

/** Bytes of a channel. */
export const channelBytes = (channel: Channel): number => channelSlots[channel] / 2

/** Bytes of a sketch. */
export const sketchBytes: number = channels.reduce<number>(
  (length, channel) => length + channelBytes(channel),
  sketchOffsets.channels,
)

/** The flags byte: two bits of length class, and whether its final answer has an option's letter and a value. */
export const flagBits = { lengthClass: 0b11, hasLetter: 0b100, hasValue: 0b1000 } as const
