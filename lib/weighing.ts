/*
 * Problem: honest nodes on unlike machines give unlike answers, so a dissent says little about a node. And an agreement says little about a
 * weaker model whose answers are often worded alike.
 *
 * Idea: where the terms ask for it, each answer of a job is weighed by two other nodes: how likely is its text under their model? Both say
 * so before they see the other's numbers. A dissent that both find likely costs its node nothing. An answer that both find unlikely
 * costs more than a dissent, also in the agreement.
 *
 * Invariants:
 * - The order of the answers determines who weighs which: each answer weighs the two before it, and the first ones the last. So three
 *   answers weigh one another, and no node chooses.
 * - One node alone decides nothing: without two scores that are near each other, an answer counts as without a check.
 * - A node is odd if its numbers are apart from those of both nodes that weighed with it, while each of these is near another. So two odd
 *   nodes show neither.
 * - A node that only says that it found another text is not believed, because that takes no model.
 *
 * Failure cases: two nodes that weigh one answer may belong to one owner, who then decides on it. Two of three nodes decide on everything
 * (docs/reputation.md bounds it). A node that asks no model invents numbers: these are apart from those of the others. Nodes whose
 * providers tokenise a text differently decide nothing, and one that does so alone gains nothing.
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

/**
 * The finding of two nodes on an answer. `other-text`: the text that its node showed does not open, or has other evidence. `unclear`: they say
 * so, and are not believed.
 */
export type Weight = 'likely' | 'unlikely' | 'other-text' | 'unclear'

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

/** Two nodes that weighed one answer, and how they stand to each other. `unlike`: they tokenise it differently. `denied`: one found another text. */
type Pair = {
  readonly answer: Hash32
  readonly nodes: readonly Address[]
  readonly stand: 'near' | 'apart' | 'unlike' | 'denied' | 'other-text'
}

function standOf([one, other]: readonly Said[]): Pair['stand'] {
  if (!one?.score && !other?.score) return 'other-text'
  if (!one?.score || !other?.score) return 'denied'
  const apart = distanceOf(one.score, other.score)
  if (apart === undefined) return 'unlike'
  return apart <= mostApart ? 'near' : 'apart'
}

function pairsOf(numbers: readonly NumbersStatement[]): readonly Pair[] {
  const answers = new Set(numbers.flatMap(({ weighed }) => weighed.map(({ answer }) => answer)))
  return [...answers].flatMap((answer) => {
    const said = saidOf(answer, numbers)
    return said.length < weighersOfAnswer
      ? []
      : [{ answer, nodes: said.map(({ by }) => by), stand: standOf(said) }]
  })
}

/** Returns the weight of the answer with this hash, undefined while two nodes do not find the same. */
export function weightOfAnswer(
  answer: Hash32,
  numbers: readonly NumbersStatement[],
): Weight | undefined {
  const pairs = pairsOf(numbers)
  const pair = pairs.find((one) => one.answer === answer)
  if (pair?.stand === 'near') {
    return likelihoodOf(saidOf(answer, numbers).flatMap(({ score }) => score ?? []))
  }
  if (pair?.stand !== 'other-text') return undefined
  return pair.nodes.every((node) => isTrusted(node, numbers, pairs)) ? 'other-text' : 'unclear'
}

/** True for a node that scored an answer, and no other node contradicts its scores. It asked a model, so its word counts that it could not. */
function isTrusted(
  node: Address,
  numbers: readonly NumbersStatement[],
  pairs: readonly Pair[],
): boolean {
  const own = numbers.find(({ address }) => address === node)
  const hasScored = own?.weighed.some(({ score }) => score !== undefined) === true
  const against = contradictors(node, pairs)
  const known = pairs.some(({ stand }) => stand === 'near')
    ? against.filter((other) => isNearAnother(other, pairs))
    : against
  return hasScored && known.length === 0
}

const isNearAnother = (node: Address, pairs: readonly Pair[]): boolean =>
  pairs.some(({ nodes, stand }) => stand === 'near' && nodes.includes(node))

/** The nodes whose scores differ from those of a node. */
const contradictors = (node: Address, pairs: readonly Pair[]): readonly Address[] =>
  pairs.flatMap(({ nodes, stand }) =>
    nodes.includes(node) && (stand === 'apart' || stand === 'unlike')
      ? nodes.filter((other) => other !== node)
      : [],
  )

/** Returns the nodes whose numbers are odd: apart from those of two others, each of which is near another node. */
export function oddNodes(numbers: readonly NumbersStatement[]): readonly Address[] {
  const pairs = pairsOf(numbers).filter(({ stand }) => stand === 'near' || stand === 'apart')
  const ofNode = (node: Address) => pairs.filter(({ nodes }) => nodes.includes(node))
  return numbers
    .map(({ address }) => address)
    .filter((node) => {
      const own = ofNode(node)
      const others = own.flatMap(({ nodes }) => nodes.filter((other) => other !== node))
      const isApart = new Set(others).size >= 2 && own.every(({ stand }) => stand === 'apart')
      return isApart && others.every((other) => isNearAnother(other, pairs))
    })
}

/**
 * True for a node that left the weighing to others: it scored nothing, or no node bears it out and one contradicts it that another bears
 * out. False for all nodes of a job in which no two scores are near each other, since its answers may have none.
 */
export function isIdleWeigher(node: Address, numbers: readonly NumbersStatement[]): boolean {
  const pairs = pairsOf(numbers)
  if (!pairs.some(({ stand }) => stand === 'near')) return false
  const own = numbers.find(({ address }) => address === node)
  if (!own?.weighed.some(({ score }) => score !== undefined)) return true
  const against = contradictors(node, pairs).filter((other) => isNearAnother(other, pairs))
  return against.length > 0 && !isNearAnother(node, pairs)
}
