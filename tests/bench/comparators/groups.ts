/*
 * How the answers to one question fall into groups of answers that match one another: what a simulation of many jobs needs of the recorded answers.
 * Seats are filled as for `ratesOf`, by recorded runs and copies (unrecorded.ts); groups are taken greedily, the largest clique of what is left first.
 */

import { createDice } from '../../simulation/dice.ts'
import type { MeasuredQuestion } from './measure.ts'
import { type MatchGraph, pairBit, seats } from './play-job.ts'
import { differingMatch, graphOf, type Seating, seat } from './unrecorded.ts'

/** The groups of a set's answers. */
export type Groups = {
  /** By the sizes of the groups of seven answers, such as `5+1+1`: the share of the seatings. The most frequent first. */
  readonly sizes: Readonly<Record<string, number>>
  /** The share of a weaker model's answers that match every member of the largest group, contradict every one, or neither; undefined when none is recorded. */
  readonly weaker:
    | { readonly joins: number; readonly contradicts: number; readonly differs: number }
    | undefined
}

const seatingsPerKey = 8

/** Counts the groups of all questions, each as often as it has keys. */
export function groupsOf(questions: readonly MeasuredQuestion[]): Groups {
  const differing = differingMatch(questions)
  const sizes = new Map<string, number>()
  const weaker = { joins: 0, contradicts: 0, differs: 0 }
  for (const [index, question] of questions.entries()) {
    const dice = createDice(1).fork(`groups ${index}`)
    for (const [key, { weak, weakNoMatch }] of question.keys.entries()) {
      for (let number = 0; number < seatingsPerKey; number++) {
        const seating: Seating = seat(question, dice)
        const groups = groupsIn(graphOf(question, key, seating, 'copying', differing, dice))
        const name = groups.map((group) => group.length).join('+')
        sizes.set(name, (sizes.get(name) ?? 0) + 1)
        const largest = (groups[0] ?? []).map((place) => seating[place]?.run ?? 0)
        for (const [model, matches] of weak) {
          const isApart = weakNoMatch.get(model) ?? []
          if (largest.every((run) => matches[run])) weaker.joins++
          else if (largest.every((run) => isApart[run])) weaker.contradicts++
          else weaker.differs++
        }
      }
    }
  }
  const seatings = total(Object.fromEntries(sizes))
  const inOrder = [...sizes].toSorted((a, b) => b[1] - a[1])
  const answers = total(weaker)
  return {
    sizes: Object.fromEntries(inOrder.map(([name, count]) => [name, count / seatings])),
    weaker:
      answers === 0
        ? undefined
        : {
            joins: weaker.joins / answers,
            contradicts: weaker.contradicts / answers,
            differs: weaker.differs / answers,
          },
  }
}

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** The seats by group: of each step the largest clique of those that are left, of equally large ones the one with the smallest mask. */
function groupsIn(graph: MatchGraph): readonly (readonly number[])[] {
  const groups: (readonly number[])[] = []
  let left = (1 << seats) - 1
  while (left !== 0) {
    let best: readonly number[] = []
    for (let mask = 1; mask < 1 << seats; mask++) {
      if ((mask & ~left) !== 0) continue
      const members = placesOf(mask)
      if (members.length > best.length && isClique(graph, members)) best = members
    }
    for (const place of best) left &= ~(1 << place)
    groups.push(best)
  }
  return groups
}

const placesOf = (mask: number): readonly number[] =>
  Array.from({ length: seats }, (_, place) => place).filter((place) => ((mask >> place) & 1) === 1)

const isClique = (graph: MatchGraph, members: readonly number[]): boolean =>
  members.every((one) =>
    members.every((other) => one === other || (graph & pairBit(one, other)) !== 0),
  )
