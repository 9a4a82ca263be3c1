import type { Hash32 } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import type { TeacherScore } from '../../lib/schemas/teacher.ts'
import { checkCommitmentOf, type OpenedCheck, scoreOf } from '../../lib/teacher.ts'
import { restated } from './restate.ts'

/** Numbers of a text of 40 tokens, each fifth of which is less likely than another. */
export const sampleScore = (answer: Hash32, key = new Uint8Array(32)): Promise<TeacherScore> => {
  const top = [0.2, 1.9, 3.1].map((nats, at) => ({ token: `t${at}`, logprob: -nats }))
  const tokens = Array.from({ length: 40 }, (_, at) => ({
    ...{ logprob: at % 5 === 0 ? -0.3 - at / 7 : -0.2, top },
  }))
  return scoreOf(tokens, answer, key)
}

/** The receipt as if its terms had asked for numbers: its checkers committed to these numbers, and opened them. */
export async function attested(
  receipt: Receipt,
  made: (score: TeacherScore) => TeacherScore = (score) => score,
): Promise<Receipt> {
  const { jobId, list, delivery } = receipt
  const score = made(await sampleScore(delivery.body.answer))
  const checks: Record<number, { check: Hash32 }> = {}
  const opened: OpenedCheck[] = []
  for (const { body } of receipt.verdicts.filter(({ body }) => body.verdict === 'match')) {
    const { address, fence } = body
    const salt = toBase64Url(new Uint8Array(32).fill(opened.length + 1))
    const parts = { jobId, address, fence, delivery: body.delivery, score, salt }
    checks[list.members.indexOf(address)] = { check: await checkCommitmentOf(parts) }
    opened.push({ address, salt, score })
  }
  const terms = { ...list.terms, needs: { parts: ['teacher' as const] } }
  const record = () => ({ attested: opened, list: { ...list, terms } })
  return await restated(receipt, { verdicts: checks, record })
}
