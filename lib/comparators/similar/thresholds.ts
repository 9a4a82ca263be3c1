/** Answers of at most this many tokens are compared by their final answer alone. */
export const shortTokens = 12

// Answers of at most so many tokens are brief, or medium; longer ones are long. In short answers each word weighs more.
const briefTokens = 40
const mediumTokens = 160

/** The length classes of answers, which select their thresholds, in the order of the sketch's two bits. */
export const lengthClasses = ['short', 'brief', 'medium', 'long'] as const
export type LengthClass = (typeof lengthClasses)[number]

/** Returns the length class of an answer, as its index in `lengthClasses`. */
export function lengthClassOf(tokens: number): number {
  if (tokens <= shortTokens) return 0
  if (tokens <= briefTokens) return 1
  return tokens <= mediumTokens ? 2 : 3
}

type Longer = Exclude<LengthClass, 'short'>

/** The least shared trigrams, and the least sum of shared trigrams and words, in thousandths. */
type Alike = { readonly trigrams: number; readonly sum: number }

/** Two answers are worded alike when one of these holds. Measured on recorded answers, see docs/comparators.md. */
export const wordedAlike: Readonly<Record<Longer, readonly Alike[]>> = {
  brief: [
    { trigrams: 400, sum: 0 },
    { trigrams: 225, sum: 740 },
  ],
  medium: [{ trigrams: 275, sum: 900 }],
  long: [{ trigrams: 275, sum: 900 }],
}

/** Shared trigrams, in thousandths, from which on two answers are near copies, and all their facts have to agree. */
export const nearCopyTrigrams: Readonly<Record<Longer, number>> = {
  brief: 550,
  medium: 800,
  long: 920,
}

/** The least ratio of the shorter answer's tokens to the longer's, in thousandths. */
export const leastLengthRatio = 650

/**
 * Answers below all of these are unrelated, in thousandths: shared trigrams, shared words, and shared words of those that the shorter one
 * could share by its length, since a short text shares little with a long one.
 */
export const unrelatedBelow = { trigrams: 40, words: 60, wordsOfShorter: 300 } as const
