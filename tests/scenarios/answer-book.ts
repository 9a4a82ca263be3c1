/*
 * What simulated nodes answer. How often honest answers agree is not invented: `groupSizes` and `weakerShares` are what
 * `npm run bench:comparators` prints for the recorded answers of GPT-4o to 100 questions of maths at temperature 0 (docs/comparators.md), of which
 * honest jobs are accepted in 89.8 % by `three`. Each job draws how its seven possible answers fall into groups; each node that is asked takes
 * the next seat, in random order. Answers of one group are one text; those of two are inconclusive with one another.
 */

import type { Address, JobId } from '../../lib/codecs.ts'
import { walletOf } from '../icl/test-icl.ts'
import type { Dice } from '../simulation/dice.ts'
import { offTopic, onTopic } from './texts.ts'
import { type Kind, kinds, type Written } from './told.ts'

/** Shares in thousandths of how seven answers to one question fall into groups that match. */
const groupSizes: Readonly<Record<string, number>> = {
  '7': 272,
  '6+1': 130,
  '3+2+1+1': 108,
  '5+1+1': 103,
  '4+2+1': 88,
  '5+2': 73,
  '2+2+1+1+1': 51,
  '4+1+1+1': 38,
  '3+2+2': 33,
  '2+2+2+1': 30,
  '3+1+1+1+1': 24,
  '4+3': 19,
  '2+1+1+1+1+1': 17,
  '3+3+1': 16,
}

/** The same of a small model on machines of different processors: SmolLM2-135M-Instruct, of whose answers about half match. */
export const unlikeGroups: Readonly<Record<string, number>> = {
  '7': 110,
  '5+2': 220,
  '4+2+1': 320,
  '3+2+1+1': 350,
}

/** Shares in thousandths of what a weaker model's answer is to the largest group; the rest is inconclusive. */
const weakerShares = { joins: 0, contradicts: 2 } as const

/** What a job asks for: a question with an answer, or a prompt whose answer is a coin toss, long or of one word. */
export type Asked = 'question' | 'long toss' | 'short toss'

/** The node that answers. */
export type Answerer = {
  readonly name: string
  readonly isWeaker?: boolean
  /** Its model, where texts are weighed. */
  readonly kind?: Kind
  /** Nodes of one owner that give one text. */
  readonly ring?: string
}

/** The answers of all jobs of a simulation. */
export type AnswerBook = {
  /** Notes what a job asks for; a question when nothing is noted. */
  note(jobId: JobId, asked: Asked): void
  answerOf(jobId: JobId, who: Answerer): string
  /** The answer of a node, with its origin. */
  writtenBy(jobId: JobId, address: Address): Written | undefined
  /** Answers that are not the model's, by `JOB:NODE`. */
  readonly lies: Set<string>
}

type Page = { readonly seats: string[]; readonly given: Map<string, string> }

/** Makes an empty book. */
export function createAnswerBook(dice: Dice, groups = groupSizes): AnswerBook {
  const asked = new Map<JobId, Asked>()
  const pages = new Map<JobId, Page>()
  const pageOf = (jobId: JobId): Page => {
    const page = pages.get(jobId) ?? { seats: seatsOf(dice, groups), given: new Map() }
    pages.set(jobId, page)
    return page
  }
  const written = new Map<string, Written>()
  const ownText = (jobId: JobId, { name, kind, ring }: Answerer): string => {
    const joins = !ring && kind && dice.between(1, 1_000) <= kinds[kind].joins
    if (joins) return `${pageOf(jobId).seats.pop()} ${kind}`
    book.lies.add(`${jobId}:${walletOf(name).address}`)
    return kind === 'filler' ? offTopic(name) : onTopic(ring ?? `${kind}, ${name}`)
  }
  const answer = (jobId: JobId, who: Answerer): string => {
    const { name, isWeaker } = who
    if (who.kind && who.kind !== 'model') return ownText(jobId, who)
    const what = asked.get(jobId) ?? 'question'
    if (what === 'short toss') return dice.pick(['heads', 'tails'])
    if (what === 'long toss') return offTopic(dice.pick(['heads', 'tails']))
    if (!isWeaker) return pageOf(jobId).seats.pop() ?? onTopic(`an eighth answer, of ${name}`)
    const rolled = dice.between(1, 1_000)
    if (rolled <= weakerShares.joins) return onTopic('group 0')
    book.lies.add(`${jobId}:${walletOf(name).address}`)
    const isApart = rolled <= weakerShares.joins + weakerShares.contradicts
    return isApart ? offTopic(`weaker, ${name}`) : onTopic(`weaker, ${name}`)
  }
  const book: AnswerBook = {
    lies: new Set(),
    writtenBy: (jobId, address) => written.get(`${jobId}:${address}`),
    note: (jobId, what) => void asked.set(jobId, what),
    answerOf: (jobId, who) => {
      const { given } = pageOf(jobId)
      const text = given.get(who.name) ?? answer(jobId, who)
      given.set(who.name, text)
      const { kind = 'model' } = who
      written.set(`${jobId}:${walletOf(who.name).address}`, { jobId, text, kind })
      return text
    },
  }
  return book
}

/** The texts at seven seats, in random order. */
function seatsOf(dice: Dice, groups: Readonly<Record<string, number>>): string[] {
  let left = dice.between(1, total(groups))
  const [sizes = '7'] =
    Object.entries(groups).find(([, share]) => {
      left -= share
      return left <= 0
    }) ?? []
  const texts = sizes
    .split('+')
    .flatMap((size, group) => Array.from({ length: Number(size) }, () => onTopic(`group ${group}`)))
  return texts
    .map((text) => ({ text, at: dice.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ text }) => text)
}

const total = (shares: Readonly<Record<string, number>>): number =>
  Object.values(shares).reduce((sum, share) => sum + share, 0)
