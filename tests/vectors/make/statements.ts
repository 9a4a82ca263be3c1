import { z } from 'zod'
import { checkAck } from '../../../lib/ack.ts'
import { verifyReceipt } from '../../../lib/receipt.ts'
import type { ListStatement } from '../../../lib/schemas/list.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import type { AckStatement } from '../../../lib/schemas/statements.ts'
import {
  commitmentOf,
  type IclStatement,
  type NodeStatement,
  statementBytes,
  statementHash,
} from '../../../lib/statements.ts'
import { aHash } from '../../branded.ts'
import { attested } from '../../lib/attested.ts'
import { addressAt, makeReceipt, signedByNode, tallyKey } from '../../lib/make-receipt.ts'
import {
  constantSignature,
  signatureVectors,
  weakKeys,
} from '../../runtimes/inside/ed25519-vectors.ts'

const text = (statement: NodeStatement | IclStatement) =>
  new TextDecoder().decode(statementBytes(statement))

const other = `0x${'1'.repeat(64)}`
const reasons = ['never-revealed', 'node-stopping', 'lease-lapsed', 'node-left'] as const
const over = reasons.map((reason, index) => ({
  ...{ position: 3 + index, fence: 4 + index, reason, at: 1_800_000_000 },
}))
const seatAt = (index: number) => ({ address: addressAt(3 + index), fence: 4 + index })

/** One signed statement of each kind, what names it, and signatures on which implementations disagree. */
export async function statementVectors(): Promise<object> {
  const { receipt } = await makeReceipt('exact', ['yes', 'yes', 'no'], {
    ...{ rule: 'any-two', over, silent: [1], fences: [1, 2, 8] },
  })
  await verifyReceipt(receipt)
  const { answers, delivery, verdicts, tally, list, jobId } = receipt
  const back = { turn: 0, reason: 'wallet-empty' } as const
  const [first] = answers
  if (!first) throw new Error('there is no answer')
  const { address, fence, evidence, salt } = first.body
  const icl = await tallyKey()
  const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
  const listed: ListStatement = {
    statement: 'svc-list-v2',
    client: receipt.client,
    kpHighHandle: 2n ** 255n + 7n,
    kpLowHandle: receipt.kpLowHandle,
    terms: list.terms,
    block: list.block,
    list: list.members,
    passed: [{ position: 1, reason: 'busy', at: 1_800_000_000 }],
    coordinator: list.activator,
    at: 1_800_000_000,
  }
  const abort = await signedByNode({ statement: 'svc-abort-v2', jobId, address, fence, ...back })
  const { attested: [numbers] = [] } = await attested(receipt)
  const node = await Promise.all(
    [first, delivery, ...verdicts, abort, numbers!].map(async ({ body, session, signature }) => ({
      text: text(body),
      hash: await statementHash(body),
      ...{ key: session.key, signature },
    })),
  )
  const byIcl = async (statement: IclStatement) => ({
    text: text(statement),
    key: icl.publicKey,
    signature: await icl.sign(statementBytes(statement)),
  })
  const ack = (step: AckStatement['step'], body_hash: string, of = { address, fence }) =>
    ({
      ...{ statement: 'svc-ack-v2', jobId, ...of, step },
      ...{ body_hash: aHash(body_hash), at: 1_800_000_000 },
    }) as const satisfies AckStatement
  const deliverer = { address: delivery.body.address, fence: delivery.body.fence }
  const acks: [string, AckStatement][] = [
    ['a commitment that was opened', ack('commit', commitment)],
    ['a commitment that was not opened', ack('commit', `0x${'c'.repeat(64)}`, seatAt(0))],
    ['another commitment that was not opened', ack('commit', other, seatAt(0))],
    ['a commitment of a seat that was given back', ack('commit', other, seatAt(1))],
    ['an answer', ack('reveal', await statementHash(first.body))],
    ['a delivery', ack('result', await statementHash(delivery.body), deliverer)],
    ['another answer', ack('reveal', other)],
    ['another delivery', ack('result', other, deliverer)],
    ['another commitment', ack('commit', other)],
    ['a seat that it leaves out', ack('commit', commitment, { address, fence: 99 })],
    ['a seat that was late', ack('commit', other, seatAt(2))],
    ['a seat whose node left before its offer', ack('commit', other, seatAt(3))],
  ]
  return {
    about:
      'Signatures are over the bytes of `text`, the canonical JSON (RFC 8785); `hash` is their SHA-256. `acks` are held against `receipt`: it is false where `isKept` is. A weak key has signed nothing, whatever its signature.',
    node,
    icl: await Promise.all([byIcl(tally.body), byIcl(listed), byIcl(ack('commit', commitment))]),
    commitments: [{ jobId, address, fence, evidence, salt, commitment }],
    receipt: z.encode(Receipt, receipt),
    acks: await Promise.all(
      acks.map(async ([name, body]) => ({
        ...{ name, ...(await byIcl(body)) },
        isKept: await checkAck(receipt, { body }).catch(() => false),
      })),
    ),
    weakKeys: Object.entries(weakKeys).map(([name, key]) => ({
      ...{ name, key, signature: constantSignature },
    })),
    signatures: signatureVectors.map(({ what, ...vector }) => ({ name: what, ...vector })),
  }
}
