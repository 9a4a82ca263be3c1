/*
 * Many questions have fewer recorded runs than a job has seats, because recording stopped early, mostly where a model varied. To leave such
 * questions out would publish the stable ones. So what was not recorded is counted in three ways: as a match with everything, as a match with
 * nothing, and by copying. A copy of a recorded run, drawn at random from those of its question, matches what that run matches. It matches the run
 * itself surely where it is the same text (as often as two recorded runs of the question are), else as often as two different texts of one
 * question match in this set.
 */

import type { Dice } from '../../simulation/dice.ts'
import type { MeasuredQuestion } from './measure.ts'
import { type MatchGraph, pairBit, seats } from './play-job.ts'

/** How runs that were not recorded are counted. */
export type Treatment = 'match' | 'no match' | 'copying'

/** How often two different texts that a model gave to one question match, by the recorded ones; each question counts once. 0 when none are recorded. */
export function differingMatch(questions: readonly MeasuredQuestion[]): number {
  const shares = questions.flatMap(({ keys, texts }) => {
    const pairs = keys.flatMap(({ runs }) =>
      pairsOf(texts).flatMap(([one, other]) =>
        texts[one] === texts[other] ? [] : [runs[one]?.[other] === true ? 1 : 0],
      ),
    )
    return pairs.length === 0 ? [] : [mean(pairs)]
  })
  return mean(shares)
}

/** How often two recorded runs of a question are the same text. */
const equalShare = ({ texts }: MeasuredQuestion): number =>
  mean(pairsOf(texts).map(([one, other]) => (texts[one] === texts[other] ? 1 : 0)))

const pairsOf = (texts: readonly number[]): readonly (readonly [number, number])[] =>
  texts.flatMap((_, one) => texts.slice(0, one).map((_text, other) => [one, other] as const))

/** The runs at the seats of one job: a recorded run, or the source of one that was not recorded. */
export type Seating = readonly { readonly run: number; readonly isRecorded: boolean }[]

/** Seats the recorded runs in a random order, and after them runs that were not recorded. */
export function seat({ texts }: MeasuredQuestion, dice: Dice): Seating {
  const order = texts.map((_, run) => ({ run, at: dice.next() })).toSorted((a, b) => a.at - b.at)
  return Array.from({ length: seats }, (_, at) => {
    const recorded = order[at]
    if (recorded) return { run: recorded.run, isRecorded: true }
    return { run: dice.pick(order).run, isRecorded: false }
  })
}

/** Which of the seated runs match; `differing` is the set's `differingMatch`. */
export function graphOf(
  question: MeasuredQuestion,
  key: number,
  seating: Seating,
  treatment: Treatment,
  differing: number,
  dice: Dice,
): MatchGraph {
  const runs = question.keys[key]?.runs ?? []
  const equal = equalShare(question)
  const chance = equal + (1 - equal) * differing
  let graph = 0
  for (const [one, a] of seating.entries()) {
    for (const [other, b] of seating.slice(0, one).entries()) {
      const isKnown = a.isRecorded && b.isRecorded
      const copied = a.run === b.run ? dice.chance(chance) : runs[a.run]?.[b.run] === true
      const isMatch = isKnown
        ? runs[a.run]?.[b.run] === true
        : treatment === 'match' || (treatment === 'copying' && copied)
      if (isMatch) graph |= pairBit(one, other)
    }
  }
  return graph
}

/** The graph with another model's answer in the first seat, and the seated runs behind it. */
export function withWeakFirstSeat(
  graph: MatchGraph,
  matchesRun: readonly boolean[],
  seating: Seating,
  treatment: Treatment,
): MatchGraph {
  let moved = 0
  for (let one = 1; one < seats; one++) {
    const honest = seating[one - 1]
    const isMatch =
      honest?.isRecorded === true || treatment === 'copying'
        ? matchesRun[honest?.run ?? 0] === true
        : treatment === 'match'
    if (isMatch) moved |= pairBit(0, one)
    for (let other = 1; other < one; other++) {
      if ((graph & pairBit(one - 1, other - 1)) !== 0) moved |= pairBit(one, other)
    }
  }
  return moved
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
