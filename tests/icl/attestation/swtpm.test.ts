import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import { readPemCertificates } from '../../../icl/attestation/x509.ts'
import { attestationDigest } from '../../../lib/attestation.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import { codeOf } from '../../code-of.ts'
import { createSwtpmMaker, type Swtpm, type SwtpmMaker, whyNoTpm2Tools } from '../../tools/swtpm.ts'
import { createTestIcl, type TestIcl } from '../test-icl.ts'
import { tpmNode } from './tpm-node.ts'
import { openToolsTpm, type ToolsTpm } from './tpm2-tools.ts'

const missing = whyNoTpm2Tools()
const pcrs = [0, 1, 2, 3, 4, 5, 6, 7, 16]
const patience = { timeout: 120_000 }

describe('software TPMs (swtpm, driven by tpm2-tools)', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let maker: SwtpmMaker
  let tpms: readonly [Swtpm, Swtpm]
  let icl: TestIcl
  const open: ToolsTpm[] = []
  beforeAll(async () => {
    maker = await createSwtpmMaker()
    tpms = [await maker.start(), await maker.start()]
  }, 120_000)
  afterEach(async () => {
    await icl.stop()
    for (const tpm of open.splice(0)) await tpm.close()
  })
  afterAll(() => maker.stop())

  /** An ICL of today that trusts the TPMs' maker. */
  const startIcl = async (models?: readonly { manufacturer: string; model: string }[]) => {
    icl = await createTestIcl({
      tpm: {
        roots: readPemCertificates(maker.rootPem),
        models,
        policy: PcrPolicy.parse({ pcrs }),
        highestTier: 2,
      },
    })
    // The certificates of the TPMs are of today, and the virtual clock is not.
    await icl.clock.jump(Math.max(0, Date.now() + 1_000 - icl.clock.now()))
  }

  /** A node whose every word about its TPM comes from that TPM. */
  const nodeWith = async (name: string, tpm: Swtpm, kind?: 'ecc' | 'rsa') => {
    const tools = await openToolsTpm(tpm.tcti ?? '', kind)
    open.push(tools)
    const issuer = readPemCertificates(maker.issuerPem).map(({ der }) => toBase64Url(der))
    const real = {
      ...tools,
      chain: issuer,
      quote: (extraData: Uint8Array) => tools.quote(extraData, pcrs),
    }
    return { ...tpmNode(icl, name, real), tools }
  }

  it.each(['ecc', 'rsa'] as const)('are enrolled and attest (%s)', patience, async (kind) => {
    await startIcl([{ manufacturer: 'id:00001014', model: 'swtpm' }])
    const node = await nodeWith('n1', tpms[0], kind)
    const { certificate } = await node.join()
    expect(decodeJwt(certificate).att).toMatchObject({ backend: 'tpm' })
    await node.renew()
    await node.tools.extend(16, new Uint8Array(32).fill(1))
    await node.renew()
  })

  it('count the starts of their machine', patience, async () => {
    await startIcl()
    const resets: number[] = []
    for (const restart of [false, true]) {
      if (restart) await tpms[0].restart()
      const node = await nodeWith('n1', tpms[0])
      const { certificate } = await node.join()
      resets.push(decodeJwt<{ att: { reset: number } }>(certificate).att.reset)
    }
    expect(resets[1]).toBeGreaterThan(resets[0]!)
  })

  it(
    'are told apart: neither serves a second address, or stands in for the other',
    patience,
    async () => {
      await startIcl()
      const first = await nodeWith('n1', tpms[0])
      const second = await nodeWith('n2', tpms[1])
      await first.join()
      await second.join()
      expect(await codeOf((await nodeWith('n3', tpms[0])).enroll())).toBe('ek-taken')
      const { nonce } = await first.challenge()
      const body = await first.request(nonce)
      const digest = await attestationDigest(await first.bindingOf(nonce, new Uint8Array()))
      const evidence = await second.tools.quote(digest, pcrs)
      expect(await codeOf(first.api.verifyAttestation({ body: { ...body, evidence } }))).toBe(
        'quote-signature-invalid',
      )
      // A credential for the first TPM's endorsement key and the second's attestation key opens nowhere.
      const mixed = await first.enroll({ ak_public: second.tools.akPublic })
      await expect(first.tools.activate(mixed)).rejects.toThrow()
      await expect(second.tools.activate(mixed)).rejects.toThrow()
    },
  )

  it('of a model that is not accepted are refused', patience, async () => {
    await startIcl([{ manufacturer: 'INTC', model: 'PTT' }])
    const node = await nodeWith('n1', tpms[0])
    expect(await codeOf(node.enroll())).toBe('tpm-model-refused')
  })
})
