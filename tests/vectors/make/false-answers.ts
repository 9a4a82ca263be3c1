import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { statementBytes } from '../../../lib/statements.ts'
import { aJobId } from '../../branded.ts'
import { addressAt, makeReceipt, type ReceiptChanges, signerOf } from '../../lib/make-receipt.ts'
import {
  evidenceOf,
  type FalseReceipt,
  otherId,
  recorded,
  said,
  stranger,
} from './false-receipt.ts'

const [n1, n2, n3, n4] = [0, 1, 2, 3].map(addressAt)
const at = 1_800_000_000
const neverRevealed = 'never-revealed' as const
const lapsed = { fence: 9, reason: 'lease-lapsed' as const, at }

type Answer = Receipt['answers'][number]

const withAnswers = (
  why: string,
  change: (first: Answer, second: Answer, last: Answer) => readonly Answer[],
) =>
  recorded('good', why, ({ answers: [first, second, last] }) => ({
    answers: [...change(first!, second!, last!)],
  }))

/** A job of three whose second or third seat went to another position. */
const seated = (why: string, changes: ReceiptChanges): FalseReceipt => ({
  ...{ of: 'good', why },
  make: async () =>
    (await makeReceipt('exact', ['a', 'a', 'a'], { positions: [0, 1, 3], ...changes })).receipt,
})

const unsaid = `it does not say what became of ${n3}`

/** What is wrong with the answers of a receipt. */
export const falseAnswers: readonly FalseReceipt[] = [
  withAnswers(`${n1} answered twice`, (first, _, last) => [first, first, last]),
  withAnswers(`the answer of ${n1} is out of order`, (first, second, last) => [
    second,
    first,
    last,
  ]),
  withAnswers(`the answer of ${n2} is out of order`, (first, second, last) => [
    { ...first, batch: 1 },
    second,
    last,
  ]),
  said('good', `${n2} is not at its place on the list`, { answers: { 1: { position: 3 } } }),
  said('good', `${n2} answered for another list`, { answers: { 1: { list: otherId } } }),
  said('good', `${n2} ran another model`, { answers: { 1: { model_id: 'openai:b' } } }),
  said('good', `${n2} allowed another length of answer`, {
    answers: { 1: { max_output_tokens: 9 } },
  }),
  said('good', `${n2} spoke of another job`, { answers: { 1: { jobId: aJobId(otherId) } } }),
  recorded('good', `${n1} allowed another length of answer`, { max_output_tokens: 9 }),
  ...[{ activator: stranger }, { until: 9 }].map((change) =>
    recorded('good', `${n1} answered for another list`, ({ list }) => ({
      list: { ...list, ...change },
    })),
  ),
  said(
    'good',
    `the evidence of ${n1} is malformed: it was made by similar/2, not exact`,
    async () => ({
      answers: { 0: { evidence: { ...(await evidenceOf('yes')), comparator: 'similar/2' } } },
    }),
  ),
  withAnswers(`the wallet of ${n2} did not grant the session key`, (first, second, last) => {
    const { session } = second
    return [first, { ...second, session: { ...session, not_after: session.not_after + 1 } }, last]
  }),
  withAnswers(`${n2} did not sign its statement`, (first, second, last) => [
    first,
    { ...second, signature: last.signature },
    last,
  ]),
  recorded(
    'good',
    `${n1} and ${n2} have the same session key`,
    async ({ answers: [first, second, last] }) => {
      const { key, session } = await signerOf('n2', 21)
      const signature = await key.sign(statementBytes(second!.body))
      return { answers: [first!, { ...second!, session, signature }, last!] }
    },
  ),
  said('good', `the session of ${n1} had ended`, ({ answers: [first] }) => ({
    tally: { settled_at: first!.session.not_after + 1 },
  })),
  seated(unsaid, {}),
  seated(unsaid, { over: [{ position: 4, ...lapsed }] }),
  seated('it seats a node that is not on its list', { over: [{ position: 9, ...lapsed }] }),
  seated('two of its assignments have the same fence', {
    over: [{ position: 2, ...lapsed, fence: 1 }],
  }),
  ...[
    { over: [{ position: 3, ...lapsed }] },
    { fences: [1, 2, 9], over: [{ position: 3, ...lapsed, fence: 3, reason: neverRevealed }] },
  ].map((changes) =>
    seated(`${n4} got another seat after its commitment`, {
      ...changes,
      list: { passed: [{ position: 2, reason: 'busy', at }] },
    }),
  ),
]
