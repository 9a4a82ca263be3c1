import type { Embed } from '../../../lib/comparators/comparator.ts'
import { createDice } from '../../simulation/dice.ts'

/** Said wherever figures that come from it are shown. */
export const embeddingLabel = 'stand-in embedding (hashed bag of words), not a real embedding model'

const dimensions = 256

/** Bag of words, each word a random direction that its hash chooses; a vector of length 1. Knows no meaning, only shared words. */
export const embedStandIn: Embed = async (text) => {
  const vector = new Float64Array(dimensions)
  const counts = new Map<string, number>()
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  for (const [word, count] of counts) {
    const dice = createDice(seedOf(word))
    // A word that comes often says little more than one that comes once.
    const weight = Math.sqrt(count)
    for (let at = 0; at < dimensions; at++) {
      vector[at] = (vector[at] ?? 0) + (dice.next() - 0.5) * weight
    }
  }
  const length = Math.hypot(...vector)
  return Array.from(vector, (value) => value / length)
}

/** FNV-1a. */
function seedOf(word: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < word.length; at++) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
  }
  return hash
}
