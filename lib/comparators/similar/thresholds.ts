/** Answers of at most this many tokens are compared by their final answer alone. */
export const shortTokens = 12

/** Answers of at most this many tokens are brief, and of at most `mediumTokens` of medium length: one word weighs more in them. */
export const briefTokens = 40

/** See `briefTokens`; what has more tokens is long. */
export const mediumTokens = 160

/** How long an answer is, for its thresholds. */
export type LengthClass = 'short' | 'brief' | 'medium' | 'long'

type Longer = Exclude<LengthClass, 'short'>

/** Shared trigrams, and shared trigrams and words together, at the least, in thousandths. */
type Alike = { readonly trigrams: number; readonly sum: number }

/** When two answers are worded alike: one of these is enough. Measured on recorded answers, see docs/comparators.md. */
export const wordedAlike: Readonly<Record<Longer, readonly Alike[]>> = {
  brief: [
    { trigrams: 400, sum: 0 },
    { trigrams: 225, sum: 740 },
  ],
  medium: [{ trigrams: 275, sum: 900 }],
  long: [{ trigrams: 275, sum: 900 }],
}

/** Shared trigrams from which two answers are near copies, in which every fact has to agree, in thousandths. */
export const nearCopyTrigrams: Readonly<Record<Longer, number>> = {
  brief: 550,
  medium: 800,
  long: 920,
}

/** The shorter answer's tokens to the longer's, at the least, in thousandths. */
export const leastLengthRatio = 650

/**
 * Answers that share less than all of these have nothing in common, in thousandths: trigrams, words, and words of those that the shorter one could
 * share by its length, since a short text shares little with a long one by nature.
 */
export const unrelatedBelow = { trigrams: 40, words: 60, wordsOfShorter: 300 } as const
