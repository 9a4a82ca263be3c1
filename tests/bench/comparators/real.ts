/*
 * The table of a real model's recording: how often the rule takes an honest text of an unlike processor for another model's, how often it
 * finds the copies of the model, and how far a lazy checker's likeliest tokens are from an honest one's.
 *
 * A text is scored by two levels that did not write it. The score of a single one counts twice, which overstates false alarms. A text of n
 * tokens is the beginning of each longer one. The spliced text is the first half of an honest answer and the second half of a Q4_0 copy's
 * text, each as its own text was scored.
 */

import { likelihoodOf } from '../../../lib/likelihood-rule.ts'
import type { TeacherScore } from '../../../lib/schemas/teacher.ts'
import { distanceOf } from '../../../lib/teacher.ts'
import { table } from '../table.ts'
import type { RecordedAnswers, RecordedQuestion } from './answers-file.ts'
import { copies } from './real-models.ts'
import { checkers, levelsOf, setOf } from './record-real.ts'
import { recordedScore } from './teacher.ts'

type Rows = NonNullable<RecordedQuestion['told']>[string]

/** The greatest distance of an honest checker's likeliest tokens, in thousandths of a nat. */
const mostApart = 150

const spliced = 'half Q4_0'

/** Returns the rates at each number of tokens as text, of the questions from `from` on, each `step`th. */
export async function realText(
  sets: RecordedAnswers,
  { lengths = [25, 50, 64, 128, 192], from = 0, step = 1 } = {},
): Promise<string> {
  const chosen = Object.fromEntries(
    Object.entries(sets).map(([name, set]) => [
      name,
      set.filter((_, at) => at >= from && (at - from) % step === 0),
    ]),
  )
  const rows = await Promise.all(lengths.map((n) => rowOf(chosen, n)))
  const found = [...copies, spliced]
  const apart = checkers.map((name) => `apart ${name}`)
  return table([
    ['tokens', 'honest', 'likely', 'unlikely', ...found, 'agree 1 %', 'apart', ...apart],
    ...rows.map((cells, at) => [String(lengths[at]), ...cells]),
  ])
}

async function rowOf(sets: RecordedAnswers, n: number): Promise<readonly string[]> {
  const { levels, scores, half } = reading(sets, n)
  const pairs = async (name: string) => {
    const others = levels.filter((_, at) => String(at) !== name)
    const by = await Promise.all(others.map((level) => scores(setOf(level, 'Q4_1'), name)))
    const [one = [], other = []] = by.filter((all) => all.some((score) => score !== undefined))
    return one.flatMap((score, at) => pairOf(score ?? other[at], other[at] ?? score))
  }
  const honest = (await Promise.all(levels.map((_, at) => pairs(String(at))))).flat()
  const likelihoods = honest.map(likelihoodOf)
  const suspects = [...(await Promise.all(copies.map(pairs))), await half()]
  const agree = honest.map(([{ agree }]) => agree / n).toSorted((a, b) => a - b)
  return [
    String(honest.length),
    share(likelihoods, (likelihood) => likelihood === 'likely'),
    share(likelihoods, (likelihood) => likelihood === 'unlikely'),
    ...suspects.map((all) => share(all, (pair) => likelihoodOf(pair) === 'unlikely')),
    (agree[Math.floor(agree.length / 100)] ?? Number.NaN).toFixed(2),
    ...(await apartOf(sets, n)),
  ]
}

/** How often two checkers' likeliest tokens are too far apart, between one of the first level and an honest or lazy other. */
async function apartOf(sets: RecordedAnswers, n: number): Promise<readonly string[]> {
  const { levels, scores } = reading(sets, n)
  const [first = '', second = ''] = levels.map((level) => setOf(level, 'Q4_1'))
  const lazy = checkers.map((weights) => Object.keys(sets).find((name) => name.endsWith(weights)))
  const ofRuns = async (set: string) =>
    (await Promise.all(levels.map((_, at) => scores(set, String(at))))).flat()
  const [mine = [], ...others] = await Promise.all(
    [first, second, ...lazy].map((set = '') => ofRuns(set)),
  )
  return others.map((all) =>
    share(
      all.flatMap((score, at) => pairOf(score, mine[at])),
      ([one, other]) => (distanceOf(one, other) ?? 0) > mostApart,
    ),
  )
}

/** Reads scores of the first `n` tokens of a recording's texts. */
function reading(sets: RecordedAnswers, n: number) {
  const levels = levelsOf(sets)
  const told = (set: string, name: string): readonly (Rows | undefined)[] =>
    (sets[set] ?? []).map((question) => question.told?.[name])
  const scores = (set: string, name: string) =>
    Promise.all(told(set, name).map((rows) => scoreAt(rows, n)))
  /** The scores by the first two levels of honest texts whose second half is a copy's. */
  const half = async (): Promise<readonly Pair[]> => {
    const middle = Math.floor(n / 2)
    const splices = levels.flatMap((_, run) => {
      const [one = [], other = []] = levels.slice(0, 2).map((level) => {
        const set = setOf(level, 'Q4_1')
        const ended = told(set, 'Q4_0')
        return told(set, String(run)).map(
          (rows, at) => rows && [...rows.slice(0, middle), ...(ended[at]?.slice(middle, n) ?? [])],
        )
      })
      return one.map((rows, at) => [rows, other[at]] as const)
    })
    const scored = splices.map(async ([one, other]) =>
      pairOf(await scoreAt(one, n), await scoreAt(other, n)),
    )
    return (await Promise.all(scored)).flat()
  }
  return { levels, scores, half }
}

type Pair = readonly [TeacherScore, TeacherScore]

const pairOf = (one: TeacherScore | undefined, other: TeacherScore | undefined): readonly Pair[] =>
  one && other ? [[one, other]] : []

const scoreAt = async (rows: Rows | undefined, n: number): Promise<TeacherScore | undefined> =>
  rows && rows.length >= n ? await recordedScore(rows.slice(0, n)) : undefined

function share<T>(all: readonly T[], isOne: (one: T) => boolean): string {
  const count = all.filter(isOne).length
  return all.length === 0 ? '-' : `${((100 * count) / all.length).toFixed(1)} (${all.length})`
}
