/*
 * What a node's answer says of the node: how much likelier each outcome is for one that takes one answer in four from a weaker model than for an
 * honest one. Jobs are played by `three`, over recorded runs and copies (unrecorded.ts); the suspect has the first seat, all others are honest.
 * Nothing is infinitely surprising: each count gets half an outcome more.
 */

import { createDice } from '../../simulation/dice.ts'
import type { MeasuredQuestion } from './measure.ts'
import { type MatchGraph, type MeasuredRule, measuredRules, playJob } from './play-job.ts'
import { differingMatch, graphOf, type Seating, seat, withWeakFirstSeat } from './unrecorded.ts'

const outcomes = ['agreed', 'differed', 'contradicted', 'undecided'] as const
type Outcome = (typeof outcomes)[number]

/** Of one outcome: its share for honest and for weaker answers, and the doubt that follows, in thousandths of a nat. */
export type Doubt = {
  readonly outcome: Outcome
  readonly honest: number
  readonly weaker: number
  readonly millinats: number
}

/** What share of its answers the suspect takes from the weaker model. */
const weakerShare = 0.25
const seatingsPerKey = 8

/** The doubt of each outcome, over all questions that have a weaker model's answer; undefined when none has. */
export function doubtsOf(questions: readonly MeasuredQuestion[]): readonly Doubt[] | undefined {
  const [rule] = measuredRules
  const differing = differingMatch(questions)
  const honest = counted()
  const weaker = counted()
  for (const [index, question] of questions.entries()) {
    const dice = createDice(1).fork(`doubt ${index}`)
    for (const [key, { noMatch, weak, weakNoMatch }] of question.keys.entries()) {
      if (weak.size === 0 || !rule) continue
      for (let number = 0; number < seatingsPerKey; number++) {
        const seating = seat(question, dice)
        const graph = graphOf(question, key, seating, 'copying', differing, dice)
        const runAt = (place: number) => seating[place]?.run ?? 0
        const isApart = (place: number) => noMatch[runAt(0)]?.[runAt(place)] === true
        honest[outcomeOf(graph, rule, isApart)]++
        for (const [model, matches] of weak) {
          const mixed = withWeakFirstSeat(graph, matches, seating, 'copying')
          weaker[outcomeOf(mixed, rule, weakIsApart(seating, weakNoMatch.get(model)))]++
        }
      }
    }
  }
  const [ofHonest, ofWeaker] = [total(honest), total(weaker)]
  if (ofWeaker === 0) return undefined
  return outcomes.map((outcome) => {
    const plain = (honest[outcome] + 0.5) / (ofHonest + 2)
    const other = (weaker[outcome] + 0.5) / (ofWeaker + 2)
    const suspect = (1 - weakerShare) * plain + weakerShare * other
    return {
      outcome,
      honest: honest[outcome] / ofHonest,
      weaker: weaker[outcome] / ofWeaker,
      millinats: Math.round(1_000 * Math.log(suspect / plain)),
    }
  })
}

const counted = (): Record<Outcome, number> => ({
  agreed: 0,
  differed: 0,
  contradicted: 0,
  undecided: 0,
})

const total = (counts: Readonly<Record<Outcome, number>>): number =>
  outcomes.reduce((sum, outcome) => sum + counts[outcome], 0)

/** With the weaker answer in the first seat, the runs of the seating sit one place later. */
const weakIsApart =
  (seating: Seating, noMatch: readonly boolean[] = []) =>
  (place: number): boolean =>
    noMatch[seating[place - 1]?.run ?? 0] === true

/** What became of the answer in the first seat; `isApart`: whether it is no match to the one at a place. */
function outcomeOf(
  graph: MatchGraph,
  rule: MeasuredRule,
  isApart: (place: number) => boolean,
): Outcome {
  const { accepted } = playJob(graph, rule)
  if (accepted.length === 0) return 'undecided'
  if (accepted.includes(0)) return 'agreed'
  return accepted.every(isApart) ? 'contradicted' : 'differed'
}
