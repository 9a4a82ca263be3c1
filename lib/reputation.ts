import type { Address, JobId } from './codecs.ts'
import { toSeconds } from './time.ts'

type Worth = {
  readonly completed: 0 | 1
  readonly accepted: 0 | 1
  readonly rejected: 0 | 1
  readonly score: number
  readonly doubtMillinats: number
}

const worth = (
  [completed, accepted, rejected]: readonly [0 | 1, 0 | 1, 0 | 1],
  score: number,
  doubtMillinats: number,
): Worth => ({ completed, accepted, rejected, score, doubtMillinats })

/** Doubt at which a node is as good as certainly faulty: a million to one. */
export const maxDoubtMillinats = 13_800

/**
 * What each thing that a node did adds to its counters, its score and the doubt about it. A doubt is 1,000 times the natural
 * logarithm of how much likelier the event is for a node that takes one answer in four from elsewhere than for an honest one.
 */
export const reputationCodes = {
  'answer-delivered': worth([1, 1, 0], 10, -260),
  'answer-agreed': worth([1, 1, 0], 5, -260),
  'answer-contradicted': worth([1, 0, 1], -5, 1_050),
  'answer-differed': worth([1, 0, 0], 0, 20),
  'answer-undecided': worth([1, 0, 0], 0, 0),
  'never-delivered': worth([0, 0, 0], -5, 260),
  'output-refused': worth([0, 0, 1], -10, 1_050),
  'never-checked': worth([0, 0, 0], -5, 0),
  'verdict-outvoted': worth([0, 0, 0], -5, 260),
  'never-revealed': worth([0, 0, 0], -5, 260),
  'lease-lapsed': worth([0, 0, 0], -5, 0),
  'answered-late': worth([0, 0, 0], 5, 0),
  'offer-lapsed': worth([0, 0, 0], -1, 0),
  'verdict-refuted': worth([0, 0, 1], -50, 6_900),
  equivocated: worth([0, 0, 1], -200, maxDoubtMillinats),
  slashed: worth([0, 0, 0], 0, 0),
  'slash-dismissed': worth([0, 0, 0], 0, 0),
} as const satisfies Record<string, Worth>

export type ReputationCode = keyof typeof reputationCodes

/** True for a code that this version knows. */
export const isReputationCode = (code: string): code is ReputationCode =>
  Object.hasOwn(reputationCodes, code)

/** One thing that a node did; its id makes it count once. */
export type ReputationEvent = {
  readonly id: string
  readonly node: Address
  readonly jobId: JobId
  readonly code: ReputationCode
  /** Milliseconds; only whole seconds count for the order. */
  readonly at: number
  /** Of `slashed`: what the node lost, in gwei. */
  readonly amountGwei?: number | undefined
}

/** A node's standing: the fold of its events (spec 2.2). */
export type Standing = {
  readonly completed: number
  readonly accepted: number
  readonly rejected: number
  readonly score: number
  /** From 0, where nothing speaks against the node, to `maxDoubtMillinats`. */
  readonly doubtMillinats: number
  readonly slashedGwei: number
}

const startScore = 100
const maxScore = 1_000

/** The standing of a node that has done nothing yet. */
export const newcomer: Standing = {
  completed: 0,
  accepted: 0,
  rejected: 0,
  score: startScore,
  doubtMillinats: 0,
  slashedGwei: 0,
}

const within = (value: number, most: number): number => Math.min(Math.max(value, 0), most)

/** The standing after one more event. */
export function afterEvent(
  standing: Standing,
  { code, amountGwei = 0 }: Pick<ReputationEvent, 'code' | 'amountGwei'>,
): Standing {
  const change: Worth = reputationCodes[code]
  return {
    completed: standing.completed + change.completed,
    accepted: standing.accepted + change.accepted,
    rejected: standing.rejected + change.rejected,
    score: within(standing.score + change.score, maxScore),
    doubtMillinats: within(standing.doubtMillinats + change.doubtMillinats, maxDoubtMillinats),
    slashedGwei: standing.slashedGwei + amountGwei,
  }
}

const secondsOf = ({ at }: Pick<ReputationEvent, 'at'>): number => toSeconds(at)

/** Events in the order in which they count: by second, then by id. */
export const inOrder = <T extends Pick<ReputationEvent, 'at' | 'id'>>(
  events: readonly T[],
): readonly T[] =>
  events.toSorted((a, b) => secondsOf(a) - secondsOf(b) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))

/** The standing that events add up to, in whatever order they are given. */
export const standingOf = (events: readonly ReputationEvent[]): Standing =>
  inOrder(events).reduce(afterEvent, newcomer)

/** The most that a node can weigh: twice a newcomer's weight, however long it has fed itself. */
export const maxWeight = 200

// The natural logarithm of 2, in thousandths.
const millinatsOfHalf = 693

/**
 * A node's weight in the draw: its score, 200 at the most, halved for each 693 thousandths of doubt, and in proportion in between, so that no
 * single step costs it half. Even the worst keeps a small chance to do better. Integers only.
 */
export const weightOf = ({
  score,
  doubtMillinats,
}: Pick<Standing, 'score' | 'doubtMillinats'>): number => {
  const halvings = Math.floor(doubtMillinats / millinatsOfHalf)
  const left = 2 * millinatsOfHalf - (doubtMillinats % millinatsOfHalf)
  const weight = Math.floor((Math.min(score, maxWeight) * left) / (2 * millinatsOfHalf))
  return Math.max(weight >> halvings, 1)
}
