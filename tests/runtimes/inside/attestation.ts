import { checkAttestationKey } from '../../../icl/attestation/attestation-key.ts'
import { checkEndorsementKey } from '../../../icl/attestation/endorsement-key.ts'
import { makeCredential } from '../../../icl/attestation/make-credential.ts'
import { checkPcrPolicy, PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import type { TpmTrust } from '../../../icl/attestation/tpm-trust.ts'
import { verifyQuote } from '../../../icl/attestation/verify-quote.ts'
import { readCertificate } from '../../../icl/attestation/x509.ts'
import { equalBytes, fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { TpmEvidence } from '../../../lib/schemas/attestation.ts'
import { systemRandom } from '../../../lib/system.ts'
import { fromHex, toHex } from '../../../lib/tpm/hex.ts'
import { nameOf } from '../../../lib/tpm/public-area.ts'
import { sampleEventLog } from '../../icl/attestation/sample-event-log.ts'
import {
  bootPcrs,
  createSoftwareTpm,
  type QuoteChanges,
  type SoftwareTpm,
} from '../../icl/attestation/software-tpm.ts'
import { swtpmEvidence } from '../../icl/attestation/swtpm-evidence.ts'
import { certificateOf, createVendor, type Vendor } from '../../icl/attestation/tpm-vendor.ts'
import { type Case, check, once, that } from './case.ts'

const now = Date.UTC(2026, 10, 22)
const extraData = new Uint8Array(32).fill(9)

/** Made once: keys take their time on some runtimes. */
const world = once(async () => {
  const vendor = await createVendor(now)
  return {
    vendor,
    tpm: await createSoftwareTpm(vendor, now),
    other: await createSoftwareTpm(await createVendor(now), now),
  }
})

const trusting = ({ root }: Vendor): Pick<TpmTrust, 'roots' | 'models'> => ({
  roots: [certificateOf(root)],
  models: undefined,
})

/** The verifier of attestation. */
export const attestationCases: readonly Case[] = [
  that(
    'a credential that was made in software is recovered by the TPM that it is for',
    async () => {
      const { vendor, tpm, other } = await world()
      const { key } = await checkEndorsementKey(trusting(vendor), tpm.certificate, tpm.chain, now)
      const area = checkAttestationKey(fromBase64Url(tpm.akPublic))
      const secret = systemRandom.bytes(32)
      const made = await makeCredential(key, await nameOf(area), secret, systemRandom)
      const credential = {
        credential_blob: toBase64Url(made.credentialBlob),
        encrypted_secret: toBase64Url(made.encryptedSecret),
      }
      check(equalBytes(await tpm.activate(credential), secret), 'another secret was recovered')
      await other.activate(credential).then(
        () => check(false, 'another TPM recovered the secret'),
        () => {},
      )
    },
  ),
  that('an endorsement key of an unknown vendor is refused', async () => {
    const { vendor, other } = await world()
    const call = checkEndorsementKey(trusting(vendor), other.certificate, other.chain, now)
    await refused('ek-chain-untrusted', call)
  }),
  that('an attestation key that is not restricted is refused', async () => {
    const { vendor } = await world()
    const { akPublic } = await createSoftwareTpm(vendor, now, 0x00040072)
    await refused('ak-refused', (async () => checkAttestationKey(fromBase64Url(akPublic)))())
  }),
  { name: 'a sound quote is accepted', run: async () => void (await verify()) },
  attack('of other bytes', 'quote-binding-wrong', {}, { extraData: new Uint8Array(32) }),
  attack('with another magic', 'quote-magic-wrong', { magic: 1 }),
  attack('of another type', 'quote-type-wrong', { type: 0x8017 }),
  attack('of fewer registers', 'quote-selection-wrong', { pcrs: [0, 1] }),
  attack('of another bank', 'quote-selection-wrong', { bank: 0x0c }),
  attack(
    'with another value',
    'quote-digest-wrong',
    {},
    {
      change: (evidence) => ({ ...evidence, pcrs: { ...evidence.pcrs, '0': 'ff'.repeat(32) } }),
    },
  ),
  attack(
    'cut short',
    'quote-signature-invalid',
    {},
    {
      change: (evidence) => ({ ...evidence, attest: evidence.attest.slice(0, 40) }),
    },
  ),
  attack(
    'with a signature cut short',
    'attestation-malformed',
    {},
    {
      change: (evidence) => ({ ...evidence, signature: evidence.signature.slice(0, 40) }),
    },
  ),
  that('a quote by another key is refused', async () => {
    const { other } = await world()
    await refused('quote-signature-invalid', verify({}, { by: other }))
  }),
  that('an event log leads to the registers that were quoted, or is refused', async () => {
    const { log, pcrs } = await sampleEventLog()
    const policy = PcrPolicy.parse({
      pcrs: [0, 4, 7],
      event_log: true,
      events: { secure_boot: true },
    })
    await checkPcrPolicy(policy, pcrs, log)
    const changed = new Map(pcrs).set(4, new Uint8Array(32))
    await refused('event-log-wrong', checkPcrPolicy(policy, changed, log))
  }),
  ...(['ecc', 'rsa'] as const).map((kind) => ({
    name: `what swtpm and tpm2-tools made is accepted (${kind} attestation key)`,
    run: () => verifySwtpm(kind),
  })),
]

type QuoteOptions = {
  readonly by?: SoftwareTpm
  readonly extraData?: Uint8Array
  readonly change?: (evidence: TpmEvidence) => TpmEvidence
}

/** Verifies a quote with the key of the first TPM. */
async function verify(changes: QuoteChanges = {}, options: QuoteOptions = {}) {
  const { tpm } = await world()
  const evidence = await (options.by ?? tpm).quote(options.extraData ?? extraData, changes)
  const area = checkAttestationKey(fromBase64Url(tpm.akPublic))
  return verifyQuote(area, options.change?.(evidence) ?? evidence, extraData, bootPcrs)
}

function attack(
  what: string,
  code: string,
  changes: QuoteChanges,
  options: QuoteOptions = {},
): Case {
  return {
    name: `a quote ${what} is refused as ${code}`,
    run: () => refused(code, verify(changes, options)),
  }
}

async function verifySwtpm(kind: 'ecc' | 'rsa'): Promise<void> {
  const { root, issuer, ekCertificate, keys } = swtpmEvidence
  const rootCertificate = readCertificate(fromBase64Url(root))
  check(rootCertificate !== undefined, 'the root cannot be read')
  const trust = { roots: rootCertificate ? [rootCertificate] : [], models: undefined }
  const { model } = await checkEndorsementKey(trust, ekCertificate, [issuer], now)
  check(model.model === 'swtpm', `the model is "${model.model}"`)
  const { akPublic, akName, evidence } = keys[kind]
  const area = checkAttestationKey(fromBase64Url(akPublic))
  check(toHex(await nameOf(area)) === akName, 'the key has another name')
  const { quote } = await verifyQuote(area, evidence, fromHex(swtpmEvidence.extraData), bootPcrs)
  check(quote.resetCount >= 0, 'there is no reset count')
}

async function refused(code: string, call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    const got = error instanceof ProblemError ? error.code : String(error)
    return check(got === code, `refused as ${got} instead of ${code}`)
  }
  throw new Error(`accepted instead of refused as ${code}`)
}
