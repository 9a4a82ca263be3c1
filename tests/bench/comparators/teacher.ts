// How well the numbers of `teacher/1` tell texts of another model from a model's own, by recorded log-probabilities.
import type { Hash32 } from '../../../lib/codecs.ts'
import type { TeacherScore } from '../../../lib/schemas/teacher.ts'
import { scoreOf, type TokenTold, worstQuarter } from '../../../lib/teacher.ts'
import { table } from '../table.ts'
import type { RecordedQuestion } from './answers-file.ts'

const key = new Uint8Array(32)
const answer: Hash32 = `0x${'ab'.repeat(32)}` as Hash32

/** Numbers by which honest and false texts are told apart: the greater, the more suspect. */
const measures = {
  'mean gap': ({ gap, n }: TeacherScore) => gap / n,
  'mean trimmed gap': ({ trimmed, n }: TeacherScore) => trimmed / n,
  'not the likeliest': ({ agree, n }: TeacherScore) => 1 - agree / n,
  'worst quarter': worstQuarter,
} as const

type Rows = NonNullable<RecordedQuestion['told']>[string]

/** Returns the score of recorded tokens. The answer that draws the places, and the key, are the same for all. */
export const recordedScore = (rows: Rows): Promise<TeacherScore> =>
  scoreOf(rows.map(toldOf), answer, key)

const toldOf = ({ logprob, top }: Rows[number]): TokenTold => ({
  logprob,
  top: top.map(([token, logprob]) => ({ token, logprob })),
})

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** How well one number tells: the chance that a false text has more than an honest one, and the share of false ones above all but 1 % of honest ones. */
type Roc = { readonly auc: number; readonly found: number }

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

/** What recorded log-probabilities say: of each other model's texts against all runs of the model itself; undefined where none were recorded. */
export async function recordedTeacher(
  questions: readonly RecordedQuestion[],
): Promise<string | undefined> {
  const texts = await Promise.all(
    questions.flatMap(({ told = {} }) =>
      Object.entries(told).map(async ([of, rows]) => {
        return { of, score: await recordedScore(rows) }
      }),
    ),
  )
  const ofModel = (isOwn: (of: string) => boolean) =>
    texts.flatMap(({ of, score }) => (isOwn(of) ? [score] : []))
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
