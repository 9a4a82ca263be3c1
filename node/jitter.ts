import type { Random } from '../lib/random.ts'

/** A wait of half to the whole of `ms`, so that many nodes do not come back at the same moment. */
export const jittered = (random: Random, ms: number): number => {
  const [byte = 0] = random.bytes(1)
  return Math.round(ms * (0.5 + byte / 510))
}

/** A wait of up to `ms`, spread evenly: nodes that an ICL lost at one moment do not come back at one. */
export const fullyJittered = (random: Random, ms: number): number => {
  const [high = 0, low = 0] = random.bytes(2)
  return Math.round((ms * (high * 256 + low)) / 65_535)
}
