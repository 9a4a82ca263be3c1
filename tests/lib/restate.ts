import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { Receipt, ReceiptRecord, Tally } from '../../lib/schemas/receipt.ts'
import type {
  AnswerStatement,
  DeliveryStatement,
  SignedDelivery,
  SignedVerdict,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { commitmentOf, seenHash, statementHash } from '../../lib/statements.ts'
import { signedByNode, tallied } from './make-receipt.ts'

/** What its nodes and its ICL say otherwise in a receipt; by position on the list. */
export type Restated = {
  readonly answers?: Readonly<Record<number, Partial<AnswerStatement>>>
  readonly delivery?: Partial<DeliveryStatement>
  readonly verdicts?: Readonly<Record<number, Partial<VerdictStatement>>>
  /** The commitments of the batches; an answer is of the batch in which its fence stands. */
  readonly seen?: (seen: Receipt['seen']) => Receipt['seen']
  readonly record?: (record: Receipt) => Partial<ReceiptRecord>
  readonly tally?: Partial<Tally>
}

/** The receipt with other statements, all signed again by those who made them, and naming one another's new hashes unless the change says otherwise. */
export async function restated(receipt: Receipt, changes: Restated): Promise<Receipt> {
  const bodies = receipt.answers.map(({ body }) => ({
    ...body,
    ...changes.answers?.[body.position],
  }))
  const told = await Promise.all(
    receipt.seen.map((commitments) =>
      Promise.all(
        commitments.map(async (one) => {
          const own = bodies[receipt.answers.findIndex(({ body }) => body.fence === one.fence)]
          if (!own) return one
          const { address, fence } = own
          return { address, fence, commitment: await commitmentOf(own) }
        }),
      ),
    ),
  )
  const seen = changes.seen?.(told) ?? told
  const answers = await Promise.all(
    bodies.map(async (body, at) => {
      const found = seen.findIndex((batch) => batch.some(({ fence }) => fence === body.fence))
      const batch = found === -1 ? receipt.answers[at]!.batch : found
      const all = { ...body, seen: await seenHash(seen[batch] ?? []) }
      return { ...(await signedByNode({ ...all, ...changes.answers?.[body.position] })), batch }
    }),
  )
  const renamed = new Map<Hash32, Hash32>()
  for (const [place, { body }] of receipt.answers.entries()) {
    renamed.set(await statementHash(body), await statementHash(answers[place]!.body))
  }
  const name = (hash: Hash32) => renamed.get(hash) ?? hash
  const positionOf = (address: Address) =>
    receipt.answers.find(({ body }) => body.address === address)?.body.position ?? -1
  const again = async (delivery: SignedDelivery, verdicts: readonly SignedVerdict[]) => {
    const answer = name(delivery.body.answer)
    const restatedDelivery = await signedByNode({ ...delivery.body, answer, ...changes.delivery })
    renamed.set(await statementHash(delivery.body), await statementHash(restatedDelivery.body))
    const said = await Promise.all(
      verdicts.map(({ body }) =>
        signedByNode({
          ...body,
          answer: name(body.answer),
          delivery: name(body.delivery),
          ...changes.verdicts?.[positionOf(body.address)],
        }),
      ),
    )
    return { delivery: restatedDelivery, verdicts: said }
  }
  const failed = await Promise.all(
    receipt.failed_deliveries.map(async ({ delivery, verdicts, ...turn }) => ({
      ...turn,
      ...(delivery ? await again(delivery, verdicts) : { verdicts }),
    })),
  )
  const { tally, ...record } = {
    ...receipt,
    ...{ answers, seen, failed_deliveries: failed },
    ...(await again(receipt.delivery, receipt.verdicts)),
  }
  const { group, deliverer, settled_at } = tally.body
  return await tallied(
    { ...record, ...changes.record?.({ ...record, tally }) },
    { group, deliverer, settled_at, ...changes.tally },
  )
}
