/*
 * What simulated nodes answer. How often honest answers agree is not invented: `groupSizes` and `weakerShares` are what
 * `npm run bench:comparators` prints for the recorded answers of GPT-4o to 100 questions of maths at temperature 0 (docs/comparators.md), of which
 * honest jobs are accepted in 89.8 % by `three`. Each job draws how its seven possible answers fall into groups; each node that is asked takes
 * the next seat, in random order. Answers of one group are one text; those of two are inconclusive with one another.
 */

import type { JobId } from '../../lib/codecs.ts'
import { walletOf } from '../icl/test-icl.ts'
import type { Dice } from '../simulation/dice.ts'
import { offTopic, onTopic } from './texts.ts'

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

/** Shares in thousandths of what a weaker model's answer is to the largest group; the rest is inconclusive. */
const weakerShares = { joins: 0, contradicts: 2 } as const

/** What a job asks for: a question with an answer, or a prompt whose answer is a coin toss, long or of one word. */
export type Asked = 'question' | 'long toss' | 'short toss'

/** Who answers: a node that asks the model, or one that asks a weaker one. */
type Answerer = { readonly name: string; readonly isWeaker?: boolean }

/** The answers of all jobs of a simulation. */
export type AnswerBook = {
  /** Notes what a job asks for; a question when nothing is noted. */
  note(jobId: JobId, asked: Asked): void
  answerOf(jobId: JobId, who: Answerer): string
  /** Answers that are not the model's, by `JOB:NODE`. */
  readonly lies: Set<string>
}

type Page = { readonly seats: string[]; readonly given: Map<string, string> }

/** Makes an empty book. */
export function createAnswerBook(dice: Dice): AnswerBook {
  const asked = new Map<JobId, Asked>()
  const pages = new Map<JobId, Page>()
  const pageOf = (jobId: JobId): Page => {
    const page = pages.get(jobId) ?? { seats: seatsOf(dice), given: new Map() }
    pages.set(jobId, page)
    return page
  }
  const answer = (jobId: JobId, { name, isWeaker }: Answerer): string => {
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
    note: (jobId, what) => void asked.set(jobId, what),
    answerOf: (jobId, who) => {
      const { given } = pageOf(jobId)
      const text = given.get(who.name) ?? answer(jobId, who)
      given.set(who.name, text)
      return text
    },
  }
  return book
}

/** The texts at seven seats, in random order. */
function seatsOf(dice: Dice): string[] {
  let left = dice.between(1, total(groupSizes))
  const [sizes = '7'] =
    Object.entries(groupSizes).find(([, share]) => {
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
