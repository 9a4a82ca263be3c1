import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import { fromBase64Url } from '../../../lib/digest.ts'
import { jwkOf } from '../../../lib/tpm/public-area.ts'
import { withEndorsementKey } from '../../../node/attestation/tpm/endorsement.ts'
import { createPrimaryKey } from '../../../node/attestation/tpm/primary-keys.ts'
import { attestationKeyTemplate } from '../../../node/attestation/tpm/templates.ts'
import { type TpmOptions, withTpm } from '../../../node/attestation/tpm/tpm.ts'
import { codeOf } from '../../code-of.ts'
import {
  certificateOf,
  certifyEndorsementKey,
  createVendor,
} from '../../icl/attestation/tpm-vendor.ts'
import { type TestIcl, walletOf } from '../../icl/test-icl.ts'
import { createSwtpmMaker, type Swtpm, type SwtpmMaker, whyNoSwtpm } from '../../tools/swtpm.ts'
import { attestBy, startTpmIcl, tpmOf, trustIn } from './tpm-icl.ts'

const missing = whyNoSwtpm()
const whole = ['challenge', 'enrol', 'activate', 'quote']
const renewal = ['challenge', 'quote']
const forever = new AbortController().signal

describe('attesting by a software TPM (swtpm)', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let maker: SwtpmMaker
  let tpm: Swtpm
  let otherTpm: Swtpm
  let uncertified: Swtpm
  let icl: TestIcl
  beforeAll(async () => {
    maker = await createSwtpmMaker()
    tpm = await maker.start()
    otherTpm = await maker.start({ socket: 'tcp' })
    uncertified = await maker.start({ certified: false })
  })
  afterAll(() => maker.stop())
  beforeEach(async () => {
    icl = await startTpmIcl(trustIn(maker.rootsPem))
  })
  afterEach(() => icl.stop())

  it('enrols once, then a quote is enough, also after the machine was started again', async () => {
    const first = await attestBy(icl, 'a', tpmOf(tpm))
    expect(first.kinds).toEqual(whole)
    const claims = ({ certificate }: typeof first) =>
      decodeJwt<{ att: { reset: number } }>(certificate)
    const enrolled = first.steps.find((step) => step.kind === 'enrol')
    expect(claims(first).sub).toBe(first.address)
    expect(claims(first).att).toMatchObject({ backend: 'tpm', ek: enrolled?.ek, ak: enrolled?.ak })

    const second = await attestBy(icl, 'a', tpmOf(tpm))
    expect(second.kinds).toEqual(renewal)
    await tpm.restart()
    const third = await attestBy(icl, 'a', tpmOf(tpm))
    expect(third.kinds).toEqual(renewal)
    expect(claims(third).att.reset).toBeGreaterThan(claims(second).att.reset)
  })

  it('enrols again by itself when this is another machine than before', async () => {
    await attestBy(icl, 'a', tpmOf(tpm))
    const moved = await attestBy(icl, 'a', tpmOf(otherTpm))
    expect(moved.kinds).toEqual([...renewal, ...whole])
    expect((await attestBy(icl, 'a', tpmOf(otherTpm))).kinds).toEqual(renewal)
  })

  it('is for one wallet, until that releases the TPM', async () => {
    const { address, steps } = await attestBy(icl, 'a', tpmOf(tpm))
    expect(await codeOf(attestBy(icl, 'b', tpmOf(tpm)))).toBe('ek-taken')
    const { released } = await icl
      .api(walletOf('a').signer)
      .releaseTpm({ body: { operator_address: address } })
    expect(released).toEqual([steps.find((step) => step.kind === 'enrol')?.ek])
    expect((await attestBy(icl, 'b', tpmOf(tpm))).kinds).toEqual(whole)
  })

  it('leaves no key in the TPM, and clears away what a killed user left in a bare one', async () => {
    const options = tpmOf(tpm)
    // A TPM has room for three keys or so: without clearing away, the next user would get none.
    const template = attestationKeyTemplate(walletOf('a').address)
    const fill = () =>
      withTpm(options, forever, async (open) => {
        for (;;) await createPrimaryKey(open, template)
      })
    expect(await codeOf(fill())).toBe('tpm-full')
    expect((await attestBy(icl, 'a', options)).kinds).toEqual(whole)
    const bound: TpmOptions = { ...options, device: { ...options.device, isBare: false } }
    for (let times = 0; times < 4; times++) await attestBy(icl, 'a', { ...options, ...bound })
  })

  it('shows issuers from a file where the ICL trusts only the root', async () => {
    await icl.stop()
    icl = await startTpmIcl(trustIn(maker.rootPem))
    expect(await codeOf(attestBy(icl, 'a', tpmOf(tpm)))).toBe('ek-chain-untrusted')
    const certificatesPath = join(maker.folder, 'issuer.pem')
    await writeFile(certificatesPath, maker.issuerPem)
    const attested = await attestBy(icl, 'a', tpmOf(tpm, { certificatesPath }))
    expect(attested.kinds).toEqual(whole)
  })

  it('takes the certificate from a file when the TPM has none, and only the right one', async () => {
    expect(await codeOf(attestBy(icl, 'a', tpmOf(uncertified)))).toBe('ek-certificate-missing')
    const certificatesPath = join(maker.folder, 'own.der')
    const options = tpmOf(uncertified, { certificatesPath })
    await writeFile(certificatesPath, 'no certificate')
    expect(await codeOf(attestBy(icl, 'a', options))).toBe('tpm-certificates-unreadable')

    const vendor = await createVendor(Date.now())
    const algorithm = { name: 'RSA-OAEP', hash: 'SHA-256' }
    const publicKey = await withTpm(options, forever, (open) =>
      withEndorsementKey(open, ({ area }) =>
        crypto.subtle.importKey('jwk', jwkOf(area.key), algorithm, true, ['encrypt']),
      ),
    )
    const certified = async (key?: CryptoKeyPair) =>
      fromBase64Url((await certifyEndorsementKey(vendor, Date.now(), {}, key)).der)
    await icl.stop()
    const roots = [certificateOf(vendor.root), certificateOf(vendor.issuer)]
    icl = await startTpmIcl(trustIn(maker.rootsPem, { roots }))
    await writeFile(certificatesPath, await certified())
    expect(await codeOf(attestBy(icl, 'a', options))).toBe('ek-certificate-missing')
    await writeFile(certificatesPath, await certified({ publicKey } as CryptoKeyPair))
    expect((await attestBy(icl, 'a', options)).kinds).toEqual(whole)
  })

  it('says what is missing: an ICL that takes TPMs, the event log that the ICL asks for', async () => {
    await icl.stop()
    icl = await startTpmIcl(
      trustIn(maker.rootsPem, { policy: PcrPolicy.parse({ event_log: true }) }),
    )
    expect(await codeOf(attestBy(icl, 'a', tpmOf(tpm)))).toBe('event-log-unreadable')
    await icl.stop()
    icl = await startTpmIcl(undefined as never)
    expect(await codeOf(attestBy(icl, 'a', tpmOf(tpm)))).toBe('attestation-backend-refused')
  })

  it('stops at once when told to, and leaves the TPM usable', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    const note = ({ kind }: { kind: string }) => {
      if (kind === 'enrol') stop.abort(reason)
    }
    await expect(attestBy(icl, 'a', tpmOf(tpm), { signal: stop.signal, note })).rejects.toBe(reason)
    expect((await attestBy(icl, 'a', tpmOf(tpm))).kinds).toEqual(whole)
  })
})
