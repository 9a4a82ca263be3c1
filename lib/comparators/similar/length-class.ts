import { briefTokens, type LengthClass, mediumTokens, shortTokens } from './thresholds.ts'

/** The length classes in the order of the sketch's two bits. */
export const lengthClasses = [
  'short',
  'brief',
  'medium',
  'long',
] as const satisfies readonly LengthClass[]

/** Returns the length class of an answer, as its index in `lengthClasses`. */
export function lengthClassOf(tokens: number): number {
  if (tokens <= shortTokens) return 0
  if (tokens <= briefTokens) return 1
  return tokens <= mediumTokens ? 2 : 3
}
