import type { Random } from '../../lib/random.ts'

/** Chance from a seed: the same seed rolls the same. */
export type Dice = Random & {
  /** From 0 up to, but not, 1. */
  next(): number
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
  /** Dice of their own for one part of a simulation: what others roll does not change what these roll. */
  fork(name: string): Dice
}

/** Makes dice (mulberry32). */
export function createDice(seed: number): Dice {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (from) => {
      if (from.length === 0) throw new Error('nothing to pick from')
      return from[between(0, from.length - 1)]!
    },
    fork: (name) => createDice(hashOf(`${seed} ${name}`)),
    bytes: (length) => new Uint8Array(length).map(() => between(0, 255)),
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  return hash >>> 0
}
