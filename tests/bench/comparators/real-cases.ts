import { createHash } from 'node:crypto'
import { createDice } from '../../simulation/dice.ts'
import { copiedPrompt, truncated } from './cheats.ts'
import { groupBy } from './group-by.ts'
import { joinedAt } from './honest-repeats.ts'
import type { Triple } from './pairs-file.ts'

/** A leader's answer with the two verifiers' to compare it with. */
export type RealCase = {
  readonly case: string
  readonly honest: boolean
  readonly triple: Triple
  /** What the leader hands in. */
  readonly claimed: string
}

/** Which half of the questions one belongs to: thresholds are chosen on the one and reported on the other. */
export type Half = 'chosen' | 'held-out'

/** The same question is in the same half for ever. */
export const halfOf = ({ q }: Triple): Half =>
  (createHash('sha256').update(q).digest()[0] ?? 0) % 2 === 0 ? 'chosen' : 'held-out'

/** The case of an honest leader. */
export const honestCase = 'another run of the model'

/** The case of a leader with a cheaper model than it says. */
export const weakerCase = 'weaker model'

/** What is recorded, and what a cheat could make of it. */
export function realCases(triples: readonly Triple[]): RealCase[] {
  const weakerOf = new Map(
    triples.filter(({ kind }) => kind === 'D').map((triple) => [questionOf(triple), triple.l]),
  )
  const bySet = groupBy(
    triples.filter(({ kind }) => kind === 'H'),
    ({ name }) => name,
  )
  return triples.flatMap((triple) =>
    triple.kind === 'D'
      ? [{ case: weakerCase, honest: false, triple, claimed: triple.l }]
      : [
          { case: honestCase, honest: true, triple, claimed: triple.l },
          ...cheatsOf(triple, weakerOf.get(questionOf(triple)), bySet.get(triple.name) ?? []),
        ],
  )
}

/** One question of one set. */
export const questionOf = ({ name, q }: Triple): string => `${name}\n${q}`

function cheatsOf(triple: Triple, weaker: string | undefined, set: readonly Triple[]): RealCase[] {
  const dice = createDice(
    createHash('sha256').update(JSON.stringify(triple)).digest().readUInt32LE(),
  )
  const others = set.filter(({ q }) => q !== triple.q)
  const claims: readonly [string, string | undefined][] = [
    ['spliced: half real, half weaker', weaker && joinedAt(triple.l, weaker, 0.5)],
    ['truncated to half', truncated(triple.l)],
    ['last line only', lastLine(triple.l)],
    ['copied prompt', copiedPrompt(triple.p, triple.l)],
    ['answer to another question', others.length > 0 ? dice.pick(others).l : undefined],
    ['one digit changed', otherDigit(triple.l, dice.next())],
  ]
  return claims.flatMap(([name, claimed]) =>
    claimed === undefined ? [] : [{ case: name, honest: false, triple, claimed }],
  )
}

/** The end of an answer, where the result mostly stands; undefined when it is half of the answer or more. */
function lastLine(text: string): string | undefined {
  const last =
    text
      .trim()
      .split(/\n+|(?<=[.!?]) /)
      .at(-1) ?? ''
  return 2 * last.length < text.length ? last : undefined
}

/** Undefined when there is no digit. */
function otherDigit(text: string, where: number): string | undefined {
  const places = [...text.matchAll(/\d/g)]
  const place = places[Math.floor(where * places.length)]
  if (place === undefined) return undefined
  const digit = String((Number(place[0]) + 1) % 10)
  return text.slice(0, place.index) + digit + text.slice(place.index + 1)
}
