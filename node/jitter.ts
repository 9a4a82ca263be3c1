import type { Random } from '../lib/random.ts'

/** Returns a wait of half of `ms` to `ms`, so that many nodes do not retry at the same moment. */
export const jittered = (random: Random, ms: number): number => {
  const [byte = 0] = random.bytes(1)
  return Math.round(ms * (0.5 + byte / 510))
}

/** Returns a uniform wait of up to `ms`, for nodes that lost the ICL at the same moment. */
export const fullyJittered = (random: Random, ms: number): number => {
  const [high = 0, low = 0] = random.bytes(2)
  return Math.round((ms * (high * 256 + low)) / 65_535)
}
