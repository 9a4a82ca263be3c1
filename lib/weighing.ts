/*
 * Problem: honest nodes on unlike machines give unlike answers, so a dissent says little about a node. And an agreement says little about a
 * weaker model whose answers are often worded alike.
 *
 * Idea: where the terms ask for it, each answer of a job is weighed by two other nodes: how likely is its text under their model? Both say
 * so before they see the other's numbers. An answer that both find likely costs its node nothing, in the agreement or not. One that both
 * find unlikely costs it more than a dissent, also in the agreement.
 *
 * Invariants:
 * - The order of the answers determines who weighs which: each answer weighs the two before it, and the first ones the last. So three
 *   answers weigh one another, and no node chooses.
 * - One node alone decides nothing: without two scores that are near each other, an answer counts as if nobody had weighed it.
 * - A node is odd if its numbers are apart from those of both nodes that weighed with it, while each of these is near another. So two odd
 *   nodes show neither.
 *
 * Failure cases: two nodes that weigh one answer may belong to one owner, who then decides on it. Two of three nodes decide on everything
 * (docs/reputation.md bounds it). A node that asks no model invents numbers: these are apart from those of the others. Nodes whose
 * providers tokenise a text differently cannot be compared, and decide nothing.
 */

import type { Address, Hash32 } from './codecs.ts'
import { likelihoodOf } from './likelihood-rule.ts'
import type { NumbersStatement } from './schemas/statements.ts'
import type { TeacherScore } from './schemas/teacher.ts'
import { contradictionIn, distanceOf } from './teacher.ts'

/** How many nodes weigh each answer. */
export const weighersOfAnswer = 2
/** How far the likeliest tokens of two honest nodes are apart at most, in thousandths of a nat. */
const mostApart = 150

/** What two nodes find of an answer. `other-text`: the text that its node showed does not open, or has other evidence. */
export type Weight = 'likely' | 'unlikely' | 'other-text'

/** The numbers that one node gives of an answer. Without a score the node found another text. */
type Said = { readonly by: Address; readonly score?: TeacherScore | undefined }

/** Returns the answers that the one at `index` weighs, out of all answers by batch and position. */
export const weighedAt = <Answer>(answers: readonly Answer[], index: number): readonly Answer[] =>
  [1, 2].flatMap((back) => answers.at((index - back + answers.length) % answers.length) ?? [])

/** Says why a node's numbers are impossible, where it was to weigh `answers`; undefined when they are not. */
export function wrongNumbers(
  { weighed }: Pick<NumbersStatement, 'weighed'>,
  answers: readonly Hash32[],
  maxOutputTokens: number,
): string | undefined {
  for (const [at, { answer, score }] of weighed.entries()) {
    if (!answers.includes(answer)) return 'an answer that its node does not weigh'
    if (weighed.findIndex((other) => other.answer === answer) !== at) return 'an answer twice'
    const wrong = score && contradictionIn(score, answer, maxOutputTokens)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const saidOf = (answer: Hash32, numbers: readonly NumbersStatement[]): readonly Said[] =>
  numbers.flatMap(({ address: by, weighed }) =>
    weighed.flatMap(({ answer: of, score }) => (of === answer ? [{ by, score }] : [])),
  )

/** Returns the weight of the answer with this hash, undefined while two nodes do not find the same. */
export function weightOfAnswer(
  answer: Hash32,
  numbers: readonly NumbersStatement[],
): Weight | undefined {
  const said = saidOf(answer, numbers)
  const scores = said.flatMap(({ score }) => score ?? [])
  if (said.length < weighersOfAnswer) return undefined
  if (scores.length === 0) return 'other-text'
  if (scores.length < said.length || !isNear(said)) return undefined
  return likelihoodOf(scores)
}

/** True when the numbers of two nodes are near each other, undefined when they cannot be compared. */
function isNear([one, other]: readonly Said[]): boolean | undefined {
  const apart = one?.score && other?.score && distanceOf(one.score, other.score)
  return apart === undefined ? undefined : apart <= mostApart
}

/** Returns the nodes whose numbers are odd: apart from those of two others, each of which is near another node. */
export function oddNodes(numbers: readonly NumbersStatement[]): readonly Address[] {
  const answers = new Set(numbers.flatMap(({ weighed }) => weighed.map(({ answer }) => answer)))
  const pairs = [...answers].flatMap((answer) => {
    const said = saidOf(answer, numbers)
    const near = isNear(said)
    return near === undefined ? [] : [{ nodes: said.map(({ by }) => by), near }]
  })
  const pairsOf = (node: Address) => pairs.filter(({ nodes }) => nodes.includes(node))
  return numbers
    .map(({ address }) => address)
    .filter((node) => {
      const own = pairsOf(node)
      const others = own.flatMap(({ nodes }) => nodes.filter((other) => other !== node))
      const isApart = new Set(others).size >= 2 && own.every(({ near }) => !near)
      return isApart && others.every((other) => pairsOf(other).some(({ near }) => near))
    })
}
