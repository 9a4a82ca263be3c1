/*
 * How well the numbers of `teacher/1` tell texts of another model from a model's own. No large model runs here: the models are counts of what
 * follows what in a fixed text (demo/ngram-model.ts). So this shows what the numbers see and how much text that takes, and no
 * threshold of any hosted model.
 *
 * Each prompt is answered by a run of the model, by models in its place, and by a text of both. Another run of the model weighs all of them. Two
 * runs differ by noise on each logarithm, so that they part at near ties as hosted models do.
 */

import {
  answerOf,
  type NgramModel,
  type Run,
  tokensOf,
  trainingText,
  trainNgrams,
  weighed,
} from '../../../demo/ngram-model.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { mostGap, type TeacherScore } from '../../../lib/schemas/teacher.ts'
import { distanceOf, scoreOf, type TokenTold, worstQuarter } from '../../../lib/teacher.ts'
import { table } from '../table.ts'
import type { RecordedQuestion } from './answers-file.ts'

const noise = 0.05
const key = new Uint8Array(32)
const answer: Hash32 = `0x${'ab'.repeat(32)}` as Hash32

/** What is told from honest texts: the model rounded to so many nats, others in its place, and a text of both. */
const falseKinds = [
  'rounded 0.5',
  'rounded 0.25',
  'other order',
  'other corpus',
  'spliced',
] as const
type FalseKind = (typeof falseKinds)[number]
const stepOf = { 'rounded 0.5': 0.5, 'rounded 0.25': 0.25 } as const
type Rounded = keyof typeof stepOf
const rounded = Object.keys(stepOf) as Rounded[]

type Models = { readonly own: NgramModel; readonly order: NgramModel; readonly corpus: NgramModel }

/** What is told of a text: its numbers, and one that they leave out. */
type Weighed = { readonly score: TeacherScore; readonly square: number }

/** Numbers by which honest and false texts are told apart: the greater, the more suspect. */
const measures = {
  'mean gap': ({ score: { gap, n } }: Weighed) => gap / n,
  'mean square': ({ square }: Weighed) => square,
  'not the likeliest': ({ score: { agree, n } }: Weighed) => 1 - agree / n,
  'worst quarter': ({ score }: Weighed) => worstQuarter(score),
} as const
type Measure = keyof typeof measures

async function weigh(told: readonly TokenTold[]): Promise<Weighed> {
  const squares = told.map(({ logprob, top }) => {
    const gap = Math.max(...top.map((one) => one.logprob)) - logprob
    return Math.min(Math.max(0, gap), mostGap / 1_000) ** 2
  })
  return { score: await scoreOf(told, answer, key), square: mean(squares) }
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** How well one number tells: the chance that a false text has more than an honest one, and the share of false ones above all but 1 % of honest ones. */
export type Roc = { readonly auc: number; readonly found: number }

export type TeacherRow = {
  readonly length: number
  readonly kind: FalseKind | 'lazy'
  readonly of: Readonly<Partial<Record<Measure | 'distance', Roc>>>
}

/** The curve of two samples, ties counted half. */
export function rocOf(honest: readonly number[], suspect: readonly number[]): Roc {
  const above = suspect.map((value) => {
    const less = honest.filter((other) => other < value).length
    const equal = honest.filter((other) => other === value).length
    return (less + equal / 2) / honest.length
  })
  const limit = honest.toSorted((a, b) => b - a)[Math.floor(honest.length / 100)] ?? 0
  return {
    auc: mean(above),
    found: suspect.filter((value) => value > limit).length / suspect.length,
  }
}

/** The beginnings of sentences of the pages, spread over them. */
function promptsOf(text: string, count: number): readonly string[] {
  const begun = (text.match(/(?<=\. )[A-Z][a-z]+(?: [a-z]+){2,3}/g) ?? []).filter(
    (one, at, all) => all.indexOf(one) === at,
  )
  return Array.from(
    { length: count },
    (_, at) => begun[Math.floor((at * begun.length) / count)] ?? '',
  )
}

/** Plays all prompts; `onProgress` is told the share that is done. */
export async function measureTeacher(
  count: number,
  lengths: readonly number[],
  onProgress: (share: number) => void = () => {},
): Promise<readonly TeacherRow[]> {
  const text = await trainingText()
  const models: Models = {
    own: trainNgrams(text, 4),
    order: trainNgrams(text, 3),
    corpus: trainNgrams(text.slice(text.length / 2), 4),
  }
  const prompts = promptsOf(text, count)
  const played: (readonly Played[])[] = []
  for (const [at, prompt] of prompts.entries()) {
    played.push(await playPrompt(models, prompt, at, lengths))
    onProgress((at + 1) / prompts.length)
  }
  return lengths.flatMap((length, at) =>
    rowsOf(
      length,
      played.map((of) => of[at]!),
    ),
  )
}

type Played = Readonly<Record<FalseKind | 'honest', Weighed>> & {
  /** Of the likeliest tokens of two nodes that ask the model, and of one that does and one that asks another. */
  readonly distances: Readonly<Record<Rounded | 'honest' | 'lazy', number>>
}

async function playPrompt(
  models: Models,
  prompt: string,
  seed: number,
  lengths: readonly number[],
): Promise<readonly Played[]> {
  const run = (who: string, step?: number) => ({
    ...{ name: `${who} ${seed}`, noise },
    ...(step !== undefined && { step }),
  })
  const most = Math.max(...lengths)
  const told = (model: NgramModel, by: Run, tokens: readonly string[]) =>
    // As a provider reads it: tokens of a text, not those that were drawn.
    weighed(model, by, prompt, tokensOf(tokens.join('')))
  const own = answerOf(models.own, run('leader'), prompt, most)
  const answers = {
    'rounded 0.5': answerOf(models.own, run('leader', 0.5), prompt, most),
    'rounded 0.25': answerOf(models.own, run('leader', 0.25), prompt, most),
    'other order': answerOf(models.order, run('leader'), prompt, most),
    'other corpus': answerOf(models.corpus, run('leader'), prompt, most),
  }
  const texts = Object.entries({ honest: own, ...answers }).map(
    ([kind, tokens]) => [kind, told(models.own, run('verifier'), tokens)] as const,
  )
  const others = Object.entries({
    honest: told(models.own, run('second'), own),
    lazy: told(models.order, run('second'), own),
    'rounded 0.5': told(models.own, run('second', 0.5), own),
    'rounded 0.25': told(models.own, run('second', 0.25), own),
  })
  return await Promise.all(
    lengths.map(async (length) => {
      const cut = (of: readonly TokenTold[]) => weigh(of.slice(0, length))
      const begun = own.slice(0, Math.ceil(length / 2))
      const spliced = answerOf(models.order, run('leader'), prompt, length, begun)
      const entries = texts.map(async ([kind, of]) => [kind, await cut(of)] as const)
      const cuts = Object.fromEntries(await Promise.all(entries)) as unknown as Omit<
        Played,
        'spliced' | 'distances'
      >
      const distances = others.map(async ([kind, of]) => {
        const { score } = await cut(of)
        return [kind, distanceOf(cuts.honest.score, score) ?? 0] as const
      })
      return {
        ...cuts,
        spliced: await weigh(told(models.own, run('verifier'), spliced)),
        distances: Object.fromEntries(await Promise.all(distances)) as Played['distances'],
      }
    }),
  )
}

function rowsOf(length: number, played: readonly Played[]): readonly TeacherRow[] {
  const distance = (kind: Rounded | 'lazy') =>
    rocOf(
      played.map(({ distances }) => distances.honest),
      played.map(({ distances }) => distances[kind]),
    )
  const rows = falseKinds.map((kind): TeacherRow => {
    const of = Object.entries(measures).map(([name, measure]) => {
      const [honest, suspect] = (['honest', kind] as const).map((which) =>
        played.map((one) => measure(one[which])),
      )
      return [name, rocOf(honest ?? [], suspect ?? [])] as const
    })
    const node = rounded.find((one) => one === kind)
    const all = { ...Object.fromEntries(of), ...(node && { distance: distance(node) }) }
    return { length, kind, of: all }
  })
  return [...rows, { length, kind: 'lazy', of: { distance: distance('lazy') } }]
}

/** The rows as text: for each number AUC, and in % what is found at 1 % false alarms. */
export function teacherText(rows: readonly TeacherRow[], count: number): string {
  const names = [...(Object.keys(measures) as Measure[]), 'distance'] as const
  const cell = (roc: Roc | undefined) =>
    roc ? `${roc.auc.toFixed(3)} / ${Math.round(100 * roc.found)}` : ''
  return `${count} prompts; AUC / found at 1 % false alarms, %\n${table([
    ['tokens', 'text', ...names],
    ...rows.map(({ length, kind, of }) => [
      String(length),
      kind,
      ...names.map((name) => cell(of[name])),
    ]),
  ])}`
}

/** What recorded log-probabilities say: of each other model's texts against all runs of the model itself; undefined where none were recorded. */
export async function recordedTeacher(
  questions: readonly RecordedQuestion[],
): Promise<string | undefined> {
  const texts = await Promise.all(
    questions.flatMap(({ told = {} }) =>
      Object.entries(told).map(async ([of, rows]) => {
        const tokens = rows.map(({ logprob, top }) => ({
          logprob,
          top: top.map(([token, logprob]) => ({ token, logprob })),
        }))
        return { of, told: await weigh(tokens) }
      }),
    ),
  )
  const ofModel = (isOwn: (of: string) => boolean) =>
    texts.flatMap(({ of, told }) => (isOwn(of) ? [told] : []))
  const isRun = (of: string) => /^\d+$/.test(of)
  const honest = ofModel(isRun)
  const others = [...new Set(texts.map(({ of }) => of))].filter((of) => !isRun(of))
  if (honest.length === 0 || others.length === 0) return undefined
  const rows = others.map((other) => {
    const suspect = ofModel((of) => of === other)
    const cells = Object.values(measures).map((measure) => {
      const { auc, found } = rocOf(honest.map(measure), suspect.map(measure))
      return `${auc.toFixed(3)} / ${Math.round(100 * found)}`
    })
    return [other, ...cells]
  })
  return `under the model itself: ${honest.length} honest texts; AUC / found at 1 % false alarms, %\n${table([['', ...Object.keys(measures)], ...rows])}`
}
