import { describe, expect, it } from 'vitest'
import { checkAck, verifyAck } from '../../lib/ack.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import type { Ack, AckStatement } from '../../lib/schemas/statements.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { commitmentOf, statementBytes, statementHash } from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { addressAt, makeReceipt, tallyKey } from './make-receipt.ts'

const at = 1_800_000_000
const otherHash = aHash(`0x${'1'.repeat(64)}`)

/** The nodes at 2 to 4 have no answer: one was late, one never revealed, one gave its seat back. The first to deliver did not. */
const over = [
  { position: 2, fence: 8, reason: 'lease-lapsed' as const, at },
  { position: 3, fence: 9, reason: 'never-revealed' as const, at },
  { position: 4, fence: 10, reason: 'node-stopping' as const, at },
]
const changes = { positions: [0, 1, 5], over, failed: ['never-delivered'] } as const
const receipt = (await makeReceipt('exact', ['a', 'a', 'a'], { ...changes, over })).receipt

async function acked(
  step: AckStatement['step'],
  address: Address,
  fence: number,
  body_hash: Hash32,
  changes: Partial<AckStatement> = {},
): Promise<Ack> {
  const { jobId } = receipt
  const about = { jobId, address, fence, step, body_hash, at, ...changes }
  const body: AckStatement = { statement: 'svc-ack-v2', ...about }
  const key = await tallyKey()
  return { body, key: key.publicKey, signature: await key.sign(statementBytes(body)) }
}

const objection = async (ack: Ack, of = receipt) =>
  checkAck(of, ack).then(
    (isOfJob) => isOfJob,
    (error: { code: string; message: string }) => {
      expect(error.code).toBe('receipt-invalid')
      return error.message.replace(/.* of 0x[0-9a-f]{40}, /, '')
    },
  )

/** A seat that ends for one of these has not committed (icl/rules). */
const reasonsBefore = [
  ...(['offer-lapsed', 'lease-lapsed'] as const),
  ...(['grant-refused', 'node-busy', 'node-left'] as const),
]

describe('an acknowledgement', () => {
  it('holds by a published key of the ICL that has signed it', async () => {
    const ack = await acked('commit', addressAt(0), 1, otherHash)
    await verifyAck(ack, ['A'.repeat(43), ack.key])
    const refused = { code: 'ack-invalid' }
    await expect(verifyAck(ack, ['A'.repeat(43)])).rejects.toMatchObject(refused)
    const changed = { ...ack, body: { ...ack.body, at: 9 } }
    await expect(verifyAck(changed, [ack.key])).rejects.toMatchObject(refused)
    const other = await signingKeyFromSeed(new Uint8Array(32).fill(77))
    await expect(verifyAck({ ...ack, key: other.publicKey }, [other.publicKey])).rejects.toThrow(
      'did not sign it',
    )
  })

  it('fits a receipt that has what it says', async () => {
    const { body } = receipt.answers[2]!
    const { address, fence } = body
    const { delivery } = receipt
    const fitting = [
      await acked('commit', address, fence, await commitmentOf(body)),
      await acked('reveal', address, fence, await statementHash(body)),
      await acked('result', delivery.body.address, 1, await statementHash(delivery.body)),
      await acked('commit', addressAt(3), 9, otherHash),
      await acked('commit', addressAt(4), 10, otherHash),
    ]
    for (const ack of fitting) expect(await objection(ack)).toBe(true)
  })

  it('says nothing of another job', async () => {
    const ack = await acked('commit', addressAt(2), 8, otherHash, { jobId: aJobId(otherHash) })
    expect(await objection(ack)).toBe(false)
  })

  it('shows a receipt to be false that calls its step missed, or has another one', async () => {
    for (const reason of reasonsBefore) {
      const changed = { ...receipt, over: over.map((seat) => ({ ...seat, reason })) }
      const before = `and in the receipt its seat was over before (${reason})`
      const ack = await acked('commit', addressAt(2), 8, otherHash)
      expect(await objection(ack, changed)).toBe(before)
    }
    const left = 'and the receipt leaves it out'
    expect(await objection(await acked('commit', addressAt(6), 7, otherHash))).toBe(left)
    expect(await objection(await acked('commit', addressAt(2), 7, otherHash))).toBe(left)
    const missing = 'and the receipt has no answer of it'
    expect(await objection(await acked('reveal', addressAt(3), 9, otherHash))).toBe(missing)
    const { address, fence } = receipt.answers[0]!.body
    expect(await objection(await acked('commit', address, fence, otherHash))).toBe(
      'and its answer in the receipt opens another',
    )
    expect(await objection(await acked('reveal', address, fence, otherHash))).toBe(
      'and the receipt has another answer of it',
    )
    const silent = receipt.failed_deliveries[0]!.address
    expect(await objection(await acked('result', silent, 1, otherHash))).toBe(
      'and the receipt has no such delivery',
    )
  })
})
