import type { Hash32 } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import type { NumbersStatement } from '../../lib/schemas/statements.ts'
import type { TeacherScore } from '../../lib/schemas/teacher.ts'
import { statementHash } from '../../lib/statements.ts'
import { scoreOf } from '../../lib/teacher.ts'
import { weighedAt } from '../../lib/weighing.ts'
import { signedByNode, tallied } from './make-receipt.ts'

/** Numbers of a text of 40 tokens, each fifth of which is less likely than another. */
export const sampleScore = (answer: Hash32, key = new Uint8Array(32)): Promise<TeacherScore> => {
  const top = [0.2, 1.9, 3.1].map((nats, at) => ({ token: `t${at}`, logprob: -nats }))
  const tokens = Array.from({ length: 40 }, (_, at) => ({
    ...{ logprob: at % 5 === 0 ? -0.3 - at / 7 : -0.2, top },
  }))
  return scoreOf(tokens, answer, key)
}

/** The receipt as if its terms had asked for numbers: each node that answered opened its numbers of two answers, or what `made` makes of them. */
export async function attested(
  receipt: Receipt,
  made: (numbers: NumbersStatement) => NumbersStatement = (numbers) => numbers,
): Promise<Receipt> {
  const { answers, jobId, list, tally } = receipt
  const bodies = answers.map(({ body }) => body)
  const opened = await Promise.all(
    bodies.map(async ({ address, fence }, at) => {
      const weighed = await Promise.all(
        weighedAt(bodies, at).map(async (body) => {
          const answer = await statementHash(body)
          return { answer, score: await sampleScore(answer) }
        }),
      )
      const salt = toBase64Url(new Uint8Array(32).fill(at + 1))
      const about = { statement: 'svc-numbers-v1', jobId, address, fence } as const
      return await signedByNode(made({ ...about, weighed, salt }))
    }),
  )
  const terms = { ...list.terms, needs: { parts: ['teacher' as const] } }
  const { record: _, ...decided } = tally.body
  return await tallied({ ...receipt, attested: opened, list: { ...list, terms } }, decided)
}
