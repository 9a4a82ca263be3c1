import { z } from 'zod'
import { checkAck, verifyAck } from '../../../lib/ack.ts'
import { canonicalJson } from '../../../lib/canonical-json.ts'
import { JobId } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import { sha256Hex, toBase64Url, utf8 } from '../../../lib/digest.ts'
import { receiptHash, recordHash, verifyReceipt } from '../../../lib/receipt.ts'
import { Evidence } from '../../../lib/schemas/evidence.ts'
import { ListStatement } from '../../../lib/schemas/list.ts'
import { Receipt, Tally } from '../../../lib/schemas/receipt.ts'
import {
  AckStatement,
  AnswerStatement,
  DeliveryStatement,
  NumbersStatement,
  TurnAbortStatement,
  VerdictStatement,
} from '../../../lib/schemas/statements.ts'
import { evidenceKeyOf } from '../../../lib/sealing/job-secret.ts'
import { verifySignature } from '../../../lib/session-key.ts'
import { commitmentOf, statementBytes } from '../../../lib/statements.ts'
import { aJobId, anAddress } from '../../branded.ts'
import { type Case, check, same } from '../../runtimes/inside/case.ts'
import exact from '../evidence-exact.json' with { type: 'json' }
import similar from '../evidence-similar.json' with { type: 'json' }
import { type Change, changed } from '../make/differences.ts'
import invalid from '../receipts-invalid.json' with { type: 'json' }
import valid from '../receipts-valid.json' with { type: 'json' }
import statements from '../statements.json' with { type: 'json' }
import { caseOf, codeOf, unhex } from './case-of.ts'

const Statement = z.discriminatedUnion('statement', [
  AnswerStatement,
  DeliveryStatement,
  NumbersStatement,
  TurnAbortStatement,
  VerdictStatement,
  AckStatement,
  ListStatement,
  Tally,
])

type Signed = { readonly text: string; readonly key: string; readonly signature: string }

/** The statement reads and writes as it is, and is signed. */
async function checkStatement({ text, key, signature }: Signed): Promise<void> {
  const bytes = statementBytes(Statement.parse(JSON.parse(text)))
  same('the text', new TextDecoder().decode(bytes), text)
  check(await verifySignature(key, signature, bytes), 'it is not signed')
  check(!(await verifySignature(key, signature, utf8(`${text} `))), 'anything is signed')
}

const evidenceCases = [exact, similar].flatMap((file): readonly Case[] => {
  const comparator = comparators[file === exact ? 'exact' : 'similar/2']
  const named = new Map(file.answers.map(({ name, evidence }) => [name, Evidence.parse(evidence)]))
  const evidenceAt = (name: string | undefined): Evidence => {
    const found = named.get(name ?? '')
    if (!found) throw new Error(`there is no answer ${name}`)
    return found
  }
  const { id } = comparator
  return [
    caseOf(`keys of evidence of ${id}`, [file], async ({ secret, jobId, evidenceKey: key }) => {
      const made = await evidenceKeyOf(unhex(secret), JobId.parse(jobId))
      same('the key', toBase64Url(made), toBase64Url(unhex(key)))
    }),
    caseOf(`evidence of ${id}`, file.answers, async ({ text, utf16 = [], evidence }) => {
      const answer = text ?? String.fromCharCode(...utf16)
      const key = unhex(file.evidenceKey)
      const made = await comparator.evidenceOf({ text: answer, prompt: file.prompt, key })
      same('the evidence', textOf(made), textOf(evidence))
    }),
    caseOf(`comparisons of ${id}`, file.pairs, ([one, other, outcome]) => {
      const [a, b] = [evidenceAt(one), evidenceAt(other)]
      same('the outcome', comparator.compare(a, b), outcome ?? '')
      same('the outcome the other way round', comparator.compare(b, a), outcome ?? '')
    }),
    caseOf(`malformed evidence of ${id}`, file.malformed, ({ evidence }) => {
      const parsed = Evidence.parse(evidence)
      check(comparator.malformation(parsed) !== undefined, 'it is not malformed')
      same('the outcome', comparator.compare(parsed, evidenceAt('lift')), 'no-match')
    }),
  ]
})

/** Statements, evidence and receipts. */
export const answerCases: readonly Case[] = [
  caseOf('statements of nodes', statements.node, async (signed) => {
    await checkStatement(signed)
    same('its hash', await sha256Hex(utf8(signed.text)), signed.hash)
  }),
  caseOf('statements of ICLs', statements.icl, checkStatement),
  caseOf('commitments to answers', statements.commitments, async ({ commitment, ...of }) => {
    const parts = { jobId: aJobId(of.jobId), address: anAddress(of.address) }
    const evidence = Evidence.parse(of.evidence)
    same('the commitment', await commitmentOf({ ...of, ...parts, evidence }), commitment)
  }),
  caseOf('acknowledgements', statements.acks, async ({ text, key, signature, isKept }) => {
    const body = AckStatement.parse(JSON.parse(text))
    await verifyAck({ body, key, signature }, [key])
    const kept = codeOf(checkAck(Receipt.parse(statements.receipt), { body }))
    same('what the receipt has of it', await kept, isKept ? 'none' : 'receipt-invalid')
  }),
  caseOf('weak keys', statements.weakKeys, async ({ key, signature }) => {
    check(!(await verifySignature(key, signature, utf8('message 0'))), 'it has signed')
  }),
  caseOf('disputed signatures', statements.signatures, async ({ key, message, signature, holds }) =>
    same('it', `${await verifySignature(key, signature, utf8(message))}`, `${holds}`),
  ),
  ...evidenceCases,
  caseOf('receipts that hold', valid.receipts, async ({ receipt: json, iclKeys, ...vector }) => {
    const receipt = Receipt.parse(json)
    same('its text', textOf(z.encode(Receipt, receipt)), textOf(json))
    await verifyReceipt(receipt, { iclKeys })
    same('its hash', await receiptHash(receipt), vector.hash)
    same('its record', await recordHash(receipt), vector.record)
  }),
  caseOf('receipts that do not hold', invalid.receipts, async ({ of, why, changes, ...vector }) => {
    const good = valid.receipts.find(({ name }) => name === of)
    check(good !== undefined, 'there is no such receipt')
    const receipt = Receipt.parse(changed(good?.receipt, changes as unknown as readonly Change[]))
    const iclKeys = vector.iclKeys ?? good?.iclKeys ?? []
    const objection = await verifyReceipt(receipt, { iclKeys }).then(
      () => 'it holds',
      (error: Error) => error.message,
    )
    same('the objection', objection, `The receipt does not hold: ${why}`)
  }),
  caseOf('receipts of another form', invalid.malformed, ({ of, changes }) => {
    const good = valid.receipts.find(({ name }) => name === of)
    check(good !== undefined, 'there is no such receipt')
    const json = changed(good?.receipt, changes as unknown as readonly Change[])
    check(!Receipt.safeParse(json).success, 'it has the form of a receipt')
  }),
]

function textOf(value: unknown): string {
  return new TextDecoder().decode(canonicalJson(value))
}
