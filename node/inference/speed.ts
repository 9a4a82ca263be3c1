import { mostMsPerToken } from '../../lib/schemas/assignments.ts'

/** How fast the node's models answer, for the leases that it asks for. */
export type Speeds = {
  /** Milliseconds per output token, rather too many than too few. Undefined until measured. */
  of(modelId: string): number | undefined
  /** Adds an answer of so many tokens, with the time of its request. */
  answered(modelId: string, tokens: number, ms: number): void
  /** Adds an answer of at most so many tokens that did not come within the time. */
  tooSlow(modelId: string, mostTokens: number, ms: number): void
}

// In a shorter answer, most of the time goes by before the first token.
const leastTokens = 32
// A slow answer counts more than a fast one: a lease that is too short costs a paid answer.
const [weightOfSlower, weightOfFaster] = [1 / 2, 1 / 8]

/** Makes the record, which ends with the process. */
export function createSpeeds(): Speeds {
  const speeds = new Map<string, number>()
  const add = (modelId: string, measured: number) => {
    const before = speeds.get(modelId) ?? measured
    const weight = measured > before ? weightOfSlower : weightOfFaster
    speeds.set(modelId, before + weight * (measured - before))
  }
  return {
    of(modelId) {
      const speed = speeds.get(modelId)
      return speed && Math.min(Math.max(Math.ceil(speed), 1), mostMsPerToken)
    },
    answered(modelId, tokens, ms) {
      if (tokens >= leastTokens) add(modelId, ms / tokens)
    },
    // The rest of the answer may take as long again.
    tooSlow: (modelId, mostTokens, ms) =>
      add(modelId, Math.max((2 * ms) / mostTokens, speeds.get(modelId) ?? 0)),
  }
}
