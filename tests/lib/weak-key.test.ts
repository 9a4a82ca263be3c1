import { describe, expect, it } from 'vitest'
import { deriveKeys } from '../../icl/records/icl-keys.ts'
import { verifyFault } from '../../lib/fault.ts'
import { parseSignature } from '../../lib/http-signature.ts'
import { verifyReceipt } from '../../lib/receipt.ts'
import { signedHeaders, verifyNodeSignature } from '../../lib/request-signature.ts'
import type { FaultEvidence } from '../../lib/schemas/fault.ts'
import { JsonWebKeySet } from '../../lib/schemas/network.ts'
import { StatementSession } from '../../lib/schemas/statements.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { thumbprintOf } from '../../lib/session-key.ts'
import { walletOf } from '../icl/test-icl.ts'
import { constantSignature, weakKeys } from '../runtimes/inside/ed25519-vectors.ts'
import { makeReceipt } from './make-receipt.ts'

const publicKey = weakKeys['the identity']
const thumbprint = await thumbprintOf(publicKey)
/** Has no private half: anyone who knows the public key can "sign" with it. */
const nobodysKey = { publicKey, thumbprint, sign: async () => constantSignature }

/** A receipt whose first node granted the key of nobody, so that its statement is signed by anybody. */
async function receiptOfNobody() {
  const { receipt, iclKey } = await makeReceipt('exact', ['yes', 'yes', 'yes'])
  const { account, address } = walletOf('n1')
  const { icl_origin: iclOrigin, chain_id: chainId } = receipt
  const [first, ...rest] = receipt.answers
  if (!first) throw new TypeError('there are answers')
  const notAfter = first.session.not_after
  const grant = sessionTypedData({ address, key: publicKey, iclOrigin, chainId, notAfter })
  const session = {
    key: publicKey,
    not_after: notAfter,
    signature: await account.signTypedData(grant),
  }
  const signed = { body: first.body, session, signature: constantSignature }
  const answers = [{ ...signed, batch: 0 }, ...rest]
  return { receipt: { ...receipt, answers }, iclKey, signed }
}

describe('a session key of small order, under which one constant signs everything', () => {
  it('signs no request', async () => {
    const url = new URL('https://icl.test/internal/heartbeat')
    const address = walletOf('n1').address
    const headers = await signedHeaders(
      { method: 'GET', url, headers: new Headers() },
      { kind: 'node', address, key: nobodysKey },
      { created: 1_800_000_000, nonce: new Uint8Array(16) },
    )
    const parsed = parseSignature({ method: 'GET', url, headers, hasBody: false }, 'node')
    expect(await verifyNodeSignature(publicKey, parsed!)).toBe(false)
  })

  it('makes no statement of a receipt', async () => {
    const { receipt, iclKey } = await receiptOfNobody()
    await expect(verifyReceipt(receipt, { iclKeys: [iclKey] })).rejects.toMatchObject({
      code: 'receipt-invalid',
      message: expect.stringContaining('did not sign its statement'),
    })
    expect(StatementSession.safeParse(receipt.answers[0]?.session).success).toBe(false)
  })

  it('signs no tally', async () => {
    const { receipt } = await makeReceipt('exact', ['yes', 'yes', 'yes'])
    const tally = { ...receipt.tally, key: publicKey, signature: constantSignature }
    await expect(verifyReceipt({ ...receipt, tally })).rejects.toThrow(
      'the ICL did not sign the tally',
    )
  })

  it('proves no fault', async () => {
    const { receipt, signed } = await receiptOfNobody()
    const other = { ...signed, body: { ...signed.body, salt: 'A'.repeat(43) } }
    const { icl_origin, chain_id, jobId } = receipt
    const { address, fence } = signed.body
    const evidence: FaultEvidence = {
      ...{ version: 2, kind: 'equivocated', icl_origin, chain_id, jobId },
      ...{ fence, address, statements: [signed, other] },
    }
    await expect(verifyFault(evidence)).rejects.toThrow('did not sign its statement')
  })

  it('is none of the keys that an ICL may publish', async () => {
    const { jwks } = await deriveKeys(new Uint8Array(32))
    expect(JsonWebKeySet.safeParse(jwks).success).toBe(true)
    const keys = jwks.keys.map((key) => (key.crv === 'Ed25519' ? { ...key, x: publicKey } : key))
    expect(JsonWebKeySet.safeParse({ keys }).success).toBe(false)
  })
})
