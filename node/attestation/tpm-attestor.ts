import { attestationDigest } from '../../lib/attestation.ts'
import { fromBase64Url, toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { QuoteDemand } from '../../lib/schemas/attestation.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import { nameOf } from '../../lib/tpm/public-area.ts'
import { parseQuote } from '../../lib/tpm/quote.ts'
import type { Attestor, Proof, ProofRequest } from './proof.ts'
import { activateCredential } from './tpm/activate.ts'
import { withAttestationKey } from './tpm/attestation-key.ts'
import { readCertificateFile } from './tpm/certificate-file.ts'
import { endorsementHash, readCertificates, withEndorsementKey } from './tpm/endorsement.ts'
import type { TpmKey } from './tpm/primary-keys.ts'
import { quotePcrs } from './tpm/quote.ts'
import { type TpmAttestorOptions, withTpm } from './tpm/tpm.ts'
import type { Tpm } from './tpm/tpm-command.ts'

const backend = 'tpm'

/** Attests with a TPM 2.0: a quote over the bound values, signed by a key that the ICL enrolled together with its TPM (spec 5). */
export const createTpmAttestor = (options: TpmAttestorOptions): Attestor => ({
  backend,
  prove: async (request) => {
    const demand = request.challenge.tpm
    if (demand === undefined) {
      throw new ProblemError('attestation-backend-refused', 'This ICL accepts no TPMs')
    }
    const { signal, address } = request
    const eventLog = demand.event_log ? await readEventLog(options, signal) : undefined
    return await withTpm(options, signal, (tpm) =>
      withAttestationKey(tpm, address, async (key) => {
        const { nonce, activationSecret } = await enrolIfNeeded(tpm, key, options, request)
        const { origin, chainId, sessionPublicKey } = request
        const binding = { origin, chainId, backend, address, nonce, activationSecret } as const
        const digest = await attestationDigest({ ...binding, sessionPublicKey })
        const evidence = await quoteAsEvidence(tpm, key, digest, demand, request)
        const log = eventLog === undefined ? {} : { event_log: toBase64Url(eventLog) }
        return {
          nonce,
          digest,
          isEnrolment: activationSecret.length > 0,
          evidence: { ...evidence, ...log },
        }
      }),
    )
  },
})

async function enrolIfNeeded(
  tpm: Tpm,
  key: TpmKey,
  { certificatesPath }: TpmAttestorOptions,
  request: ProofRequest,
): Promise<{ readonly nonce: string; readonly activationSecret: Uint8Array }> {
  const { challenge, enrolsAgain, enroll, note } = request
  if (challenge.enrolled && !enrolsAgain) {
    return { nonce: challenge.nonce, activationSecret: new Uint8Array() }
  }
  const given = await readCertificateFile(certificatesPath)
  return await withEndorsementKey(tpm, async (endorsementKey) => {
    const { own, issuers } = await readCertificates(tpm, endorsementKey, given)
    const ak = toHex(await nameOf(key.area))
    note({ kind: 'enrol', ek: await endorsementHash(endorsementKey), ak })
    const answer = await enroll({
      ek_certificate: toBase64Url(own),
      ...(issuers.length > 0 && { ek_chain: issuers.map(toBase64Url) }),
      ak_public: toBase64Url(key.area.bytes),
    })
    const activationSecret = await activateCredential(tpm, key, endorsementKey, {
      blob: fromBase64Url(answer.credential_blob),
      encryptedSecret: fromBase64Url(answer.encrypted_secret),
    })
    note({ kind: 'activate' })
    return { nonce: answer.nonce, activationSecret }
  })
}

async function quoteAsEvidence(
  tpm: Tpm,
  key: TpmKey,
  digest: Uint8Array,
  demand: QuoteDemand,
  { note }: ProofRequest,
): Promise<Proof['evidence'] & { readonly backend: 'tpm' }> {
  const { attest, signature, pcrs } = await quotePcrs(tpm, key, digest, demand.pcrs)
  const { resetCount } = parseQuote(attest)
  note({ kind: 'quote', pcrs: [...pcrs.keys()], resetCount })
  return {
    backend,
    attest: toBase64Url(attest),
    signature: toBase64Url(signature),
    pcrs: Object.fromEntries([...pcrs].map(([index, value]) => [String(index), toHex(value)])),
  }
}

async function readEventLog(
  { device }: TpmAttestorOptions,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (device.readEventLog) return await device.readEventLog(signal)
  throw new SvcError(
    'event-log-unreadable',
    `the ICL asks for the boot's event log, and there is none of the TPM at ${device.name}`,
    { hint: 'Attest with the TPM of a machine that was booted by UEFI, or use another ICL.' },
  )
}
