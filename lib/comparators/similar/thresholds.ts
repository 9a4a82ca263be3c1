/** Answers of at most this many tokens are compared by their final answer alone. */
export const shortTokens = 12

/** Answers of at most this many tokens are brief, and of at most `mediumTokens` of medium length: one word weighs more in them. */
export const briefTokens = 40

/** See `briefTokens`; what has more tokens is long. */
export const mediumTokens = 160

/** How long an answer is, for its thresholds. */
export type LengthClass = 'short' | 'brief' | 'medium' | 'long'

type Longer = Exclude<LengthClass, 'short'>

/** When two answers are worded alike, in thousandths. */
export type Wording = {
  /** Shared trigrams that are enough by themselves. */
  readonly accepted: Readonly<Record<Longer, number>>
  /** Shared trigrams that are enough when trigrams and words together come to `supportedSum`. */
  readonly supported: Readonly<Record<Longer, number>>
  readonly supportedSum: number
}

/** Searched on one half of recorded questions, see docs/comparators.md. */
export const shippedWording: Wording = {
  accepted: { brief: 400, medium: 350, long: 350 },
  supported: { brief: 225, medium: 175, long: 175 },
  supportedSum: 740,
}

/** Shared trigrams from which two answers are near copies, in which every fact has to agree, in thousandths. */
export const nearCopyTrigrams: Readonly<Record<Longer, number>> = {
  brief: 550,
  medium: 800,
  long: 920,
}

/** The shorter answer's tokens to the longer's, at the least, in thousandths. */
export const leastLengthRatio = 650

/** Answers that share less than this of both have nothing in common, in thousandths. */
export const unrelatedBelow = { trigrams: 30, words: 100 } as const
