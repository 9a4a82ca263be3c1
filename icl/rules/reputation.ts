import type { Address, JobId } from '../../lib/codecs.ts'

/** What each thing that a node did adds to its counters and its score. */
const reputationCodes = {
  'result-accepted': { completed: 1, accepted: 1, rejected: 0, score: 10 },
  'result-rejected': { completed: 1, accepted: 0, rejected: 1, score: -10 },
  'result-disputed': { completed: 1, accepted: 0, rejected: 0, score: 0 },
  'verdict-upheld': { completed: 1, accepted: 1, rejected: 0, score: 5 },
  'verdict-outvoted': { completed: 1, accepted: 0, rejected: 0, score: 0 },
  'verdict-disputed': { completed: 1, accepted: 0, rejected: 0, score: 0 },
  'verdict-refuted': { completed: 0, accepted: 0, rejected: 1, score: -50 },
  'never-revealed': { completed: 0, accepted: 0, rejected: 0, score: -5 },
  'lease-lapsed': { completed: 0, accepted: 0, rejected: 0, score: -5 },
  'offer-lapsed': { completed: 0, accepted: 0, rejected: 0, score: -1 },
} as const

export type ReputationCode = keyof typeof reputationCodes

/** One thing that a node did; its id makes it count once. */
export type ReputationEvent = {
  readonly id: string
  readonly node: Address
  readonly jobId: JobId
  readonly code: ReputationCode
  /** Milliseconds. */
  readonly at: number
}

/** A node's standing: the fold of its events (spec 2.2). */
export type Standing = {
  readonly completed: number
  readonly accepted: number
  readonly rejected: number
  readonly score: number
}

const startScore = 100
const maxScore = 1_000

export const newcomer: Standing = { completed: 0, accepted: 0, rejected: 0, score: startScore }

/** The standing that events, in order, add up to; the score stays within 0 and 1,000. */
export const standingOf = (events: readonly ReputationEvent[]): Standing =>
  events.reduce((standing, { code }) => {
    const change = reputationCodes[code]
    return {
      completed: standing.completed + change.completed,
      accepted: standing.accepted + change.accepted,
      rejected: standing.rejected + change.rejected,
      score: Math.min(Math.max(standing.score + change.score, 0), maxScore),
    }
  }, newcomer)

/** A node's weight in the draw: even the worst keeps a small chance to do better. */
export const weightOf = (standing: Standing): number => Math.max(standing.score, 1)
