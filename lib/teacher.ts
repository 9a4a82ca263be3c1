/*
 * Problem: two free runs of an honest model diverge. So a difference of answers says little, and likeness does not show which model gave
 * them.
 *
 * Idea: a model is given a text and returns how likely each token is. In a text of its own nearly every token is the likeliest,
 * and the others are close. A text of another model has tokens that it finds unlikely. That is one call for about a third of the price of
 * an answer, and it does not matter where two runs would have diverged.
 *
 * Invariants:
 * - All numbers are integers, in thousandths of a nat, so what is signed has one spelling.
 * - The numbers are attested: only the provider could compute them again. They decide on scores of nodes (weighing.ts), never on
 *   which answers agree.
 * - An answer determines the places at which nodes show their likeliest tokens, and its node committed to it before it saw any other. So
 *   no node chooses them, and all show the same places.
 * - A token's name is keyed with the job's evidence key. The ICL and readers of a receipt learn no token.
 *
 * Failure cases: a node that asks no model invents numbers. It committed to them before it saw others', and its likeliest tokens are far
 * from theirs (`distanceOf`). Two nodes show that they differ, three show which is odd. A text that is spliced from two models' has a
 * quarter that stands out. Nodes whose providers tokenise the text differently have other places and cannot be compared.
 */

import { bytesToHex, concat, hexToBigInt, keccak256, numberToHex } from 'viem'
import { canonicalJson } from './canonical-json.ts'
import type { Address, Hash32 } from './codecs.ts'
import { concatBytes, hmacSha256, utf8 } from './digest.ts'
import type { Receipt } from './schemas/receipt.ts'
import type { NumbersStatement } from './schemas/statements.ts'
import {
  type AttestedNumbers,
  mostGap,
  type TeacherScore,
  type TopTokens,
} from './schemas/teacher.ts'

/** A model's view of one token of a text: natural logarithms of probabilities. */
export type TokenTold = {
  readonly logprob: number
  /** The likeliest tokens in its place, in any order. */
  readonly top: readonly { readonly token: string; readonly logprob: number }[]
}

const farGap = 4_000
/** One token in so many, the ones with the greatest gaps, does not count in `trimmed`. */
const tokensForOneTrimmed = 32
const placesShown = 8
const tokensShown = 5
const leastProbability = 100_000

/** Returns the places, ascending, at which a text of `n` tokens shows its likeliest tokens: eight draws, some of which may coincide. */
export function placesOf(answer: Hash32, n: number): readonly number[] {
  const draws = Array.from({ length: placesShown }, (_, draw) =>
    Number(hexToBigInt(keccak256(concat([answer, numberToHex(draw, { size: 4 })]))) % BigInt(n)),
  )
  return [...new Set(draws)].toSorted((a, b) => a - b)
}

/** How many tokens of a text of `n` are left out of `trimmed`. */
const trimmedOf = (n: number): number => Math.ceil(n / tokensForOneTrimmed)

/** Returns the first token of each quarter of a text, and its end. */
const boundsOf = (n: number): readonly number[] =>
  [0, 1, 2, 3, 4].map((quarter) => Math.floor((quarter * n) / 4))

/** Computes a text's numbers. `answer` is the hash of the deliverer's statement, `key` the evidence key. Throws RangeError without (likeliest) tokens. */
export async function scoreOf(
  tokens: readonly TokenTold[],
  answer: Hash32,
  key: Uint8Array,
): Promise<TeacherScore> {
  if (tokens.length === 0) throw new RangeError('A text without tokens has no score')
  const rows = tokens.map(({ logprob, top }) => ({ own: millinats(logprob), top: likeliest(top) }))
  const gaps = rows.map(({ own, top: [first] }) => Math.max(0, own - (first?.nats ?? own)))
  const clipped = gaps.map((gap) => Math.min(gap, mostGap))
  const bounds = boundsOf(tokens.length)
  const transcript = canonicalJson(rows.map(({ own, top }) => [own, ...top]))
  const shown = placesOf(answer, tokens.length).flatMap((place) => rows[place] ?? [])
  return {
    check: 'teacher/1',
    n: tokens.length,
    agree: gaps.filter((gap) => gap === 0).length,
    gap: sum(clipped),
    trimmed: sum(clipped.toSorted((a, b) => b - a).slice(trimmedOf(tokens.length))),
    far: gaps.filter((gap) => gap > farGap).length,
    quarters: [0, 1, 2, 3].map((at) => sum(clipped.slice(bounds[at], bounds[at + 1]))),
    transcript: bytesToHex(await hmacSha256(key, transcript)) as Hash32,
    top: await Promise.all(shown.map(({ top }) => namedTop(top, key))),
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

const millinats = (logprob: number): number =>
  Math.min(Math.max(0, Math.round(-1_000 * logprob)), leastProbability)

type Likeliest = readonly { readonly token: string; readonly nats: number }[]

function likeliest(top: TokenTold['top']): Likeliest {
  const ordered = top.toSorted((a, b) => b.logprob - a.logprob).slice(0, tokensShown)
  if (ordered.length === 0) throw new RangeError('A place without likeliest tokens has no score')
  return ordered.map(({ token, logprob }) => ({ token, nats: millinats(logprob) }))
}

const namedTop = (top: Likeliest, key: Uint8Array): Promise<TopTokens> =>
  Promise.all(
    top.map(async ({ token, nats }): Promise<[number, number]> => {
      const name = await hmacSha256(key, concatBytes(utf8('svc-teacher-v1'), utf8(token)))
      return [new DataView(name.buffer).getUint32(0), nats]
    }),
  )

/** The greatest mean gap of a quarter, in thousandths of a nat a token. */
export function worstQuarter({ n, quarters }: TeacherScore): number {
  const bounds = boundsOf(n)
  const means = quarters.map((gap, at) => {
    const length = (bounds[at + 1] ?? 0) - (bounds[at] ?? 0)
    return length === 0 ? 0 : Math.floor(gap / length)
  })
  return Math.max(...means)
}

/** Says why numbers are impossible for a text of at most `maxOutputTokens` by a deliverer with this answer; undefined when they are not. */
export function contradictionIn(
  score: TeacherScore,
  answer: Hash32,
  maxOutputTokens: number,
): string | undefined {
  const { n, agree, gap, trimmed, far, quarters, top } = score
  if (n > maxOutputTokens) return 'more tokens than the answer may have'
  if (agree + far > n) return 'more tokens counted than there are'
  if (gap < far * mostGap || gap > (n - agree) * mostGap) return 'a gap that its tokens cannot have'
  if (trimmed > gap || gap - trimmed > trimmedOf(n) * mostGap)
    return 'a trimmed gap that its gap cannot have'
  if (sum(quarters) !== gap) return 'quarters that do not add up'
  const bounds = boundsOf(n)
  const isQuarter = (own: number, at: number) =>
    own <= ((bounds[at + 1] ?? 0) - (bounds[at] ?? 0)) * mostGap
  if (!quarters.every(isQuarter)) return 'a quarter that its tokens cannot have'
  if (top.length !== placesOf(answer, n).length) return 'another number of places than are drawn'
  const isOrdered = (row: TopTokens) => row.every(([, nats], at) => nats >= (row[at - 1]?.[1] ?? 0))
  return top.every(isOrdered) ? undefined : 'likeliest tokens out of order'
}

/**
 * How far apart two nodes' likeliest tokens are, in thousandths of a nat: the mean over all tokens that either shows. A token that one node
 * does not show is at least as unlikely to it as the last one that it shows. Rows with unlike numbers of tokens are as far apart as can
 * be: a node without a model could show a text's own tokens alone. Undefined when their texts have different numbers of tokens,
 * so that they show different places.
 */
export function distanceOf(one: TeacherScore, other: TeacherScore): number | undefined {
  if (one.n !== other.n || one.top.length !== other.top.length) return undefined
  const apart = one.top.flatMap((row, place) => rowDistances(row, other.top[place] ?? []))
  return Math.floor(sum(apart) / apart.length)
}

function rowDistances(one: TopTokens, other: TopTokens): readonly number[] {
  const [first, second] = [new Map(one), new Map(other)]
  if (first.size !== second.size) return [mostGap]
  return [...new Set([...first.keys(), ...second.keys()])].map((token) => {
    const [a, b] = [first.get(token), second.get(token)]
    const by =
      a !== undefined && b !== undefined
        ? Math.abs(a - b)
        : Math.max(0, a === undefined ? lastOf(one) - (b ?? 0) : lastOf(other) - a)
    return Math.min(by, mostGap)
  })
}

const lastOf = (row: TopTokens): number => row.at(-1)?.[1] ?? 0

/** Describes the numbers of all nodes in a line for people. */
export const describeAttested = (attested: readonly Attested[]): string =>
  attested
    .map(({ node, ...numbers }) => `${node.slice(0, 8)} ${describeNumbers(numbers)}`)
    .join('; ')

/** Describes the numbers of one node. */
export function describeNumbers({ n, agree, gap, far, worst, apart }: AttestedNumbers): string {
  const others = apart === undefined ? 'not compared' : `${apart} from another's`
  return `${agree} of ${n} tokens the likeliest, gap ${Math.floor(gap / n)} (worst quarter ${worst}), ${far} far, ${others}`
}

/** The numbers of a node. */
export type Attested = AttestedNumbers & { readonly node: Address }

/** Returns the numbers of all nodes that weighed the answer with this hash, for display. */
export function attestedOf(
  answer: Hash32,
  numbers: readonly NumbersStatement[],
): readonly Attested[] {
  const given = numbers.flatMap(({ address: node, weighed }) => {
    const score = weighed.find((one) => one.answer === answer)?.score
    return score ? [{ node, score }] : []
  })
  return given.map(({ node, score }) => {
    const distances = given.flatMap((other) =>
      other.node === node ? [] : (distanceOf(score, other.score) ?? []),
    )
    const { n, agree, gap, far } = score
    const apart = distances.length === 0 ? undefined : Math.min(...distances)
    const summary = { n, agree, gap, far, worst: worstQuarter(score) }
    return { node, ...summary, ...(apart !== undefined && { apart }) }
  })
}

/** Returns the numbers of the delivered answer in a receipt, for display. */
export const attestedIn = ({
  delivery,
  attested = [],
}: Pick<Receipt, 'delivery' | 'attested'>): readonly Attested[] =>
  attestedOf(
    delivery.body.answer,
    attested.map(({ body }) => body),
  )
