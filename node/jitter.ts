import type { Random } from '../lib/random.ts'

/** A wait of half to the whole of `ms`, so that many nodes do not come back at the same moment. */
export const jittered = (random: Random, ms: number): number => {
  const [byte = 0] = random.bytes(1)
  return Math.round(ms * (0.5 + byte / 510))
}
