import { sha256 } from '../../../lib/digest.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { toHex } from '../../../lib/tpm/hex.ts'
import type { PublicArea } from '../../../lib/tpm/public-area.ts'
import { listHandles } from './capabilities.ts'
import { flushing } from './contexts.ts'
import { allSequences, firstSequence, includesBytes } from './der.ts'
import { readNv } from './nv-memory.ts'
import { createPrimaryKey, readPublic, type TpmKey } from './primary-keys.ts'
import { TpmRefusedError } from './response-code.ts'
import { endorsementKeyTemplate } from './templates.ts'
import type { Tpm } from './tpm-command.ts'

type Bytes = Uint8Array<ArrayBuffer>

// NV indices of the TCG's EK credential profile, for the RSA-2048 key of the low range.
const certificateIndex = 0x01c0_0002
const nonceIndex = 0x01c0_0003
const templateIndex = 0x01c0_0004
const firstChainIndex = 0x01c0_0100
const lastChainIndex = 0x01c0_01ff
const persistentKey = 0x8101_0001
const mostIssuers = 6
const largestCertificate = 4_096

/** The certificates of the operator's file, in DER. */
export type GivenCertificates = readonly Uint8Array[]

/** The certificate of a TPM's endorsement key, and the issuers up to the vendor's root (DER). */
export type EndorsementCertificates = { readonly own: Bytes; readonly issuers: readonly Bytes[] }

/** Runs `work` with the endorsement key: the stored one, or a new one, which is the same key. */
export async function withEndorsementKey<T>(
  tpm: Tpm,
  work: (key: TpmKey) => Promise<T>,
): Promise<T> {
  const template = (await readNv(tpm, templateIndex)) ?? (await defaultTemplate(tpm))
  const kept = await readPublic(tpm, persistentKey)
  if (kept && isMadeFrom(kept, template)) return await work({ handle: persistentKey, area: kept })
  const made = await createPrimaryKey(tpm, template)
  return await flushing(tpm, made.handle, () => work(made))
}

const defaultTemplate = async (tpm: Tpm): Promise<Bytes> =>
  endorsementKeyTemplate(await readNv(tpm, nonceIndex))

const numberBytes = 2 + 256

/** True when everything but the modulus is as in the template. */
const isMadeFrom = ({ bytes }: PublicArea, template: Uint8Array): boolean =>
  bytes.length === template.length &&
  toHex(bytes.slice(0, -numberBytes)) === toHex(template.slice(0, -numberBytes))

/** Returns a TPM's identity: the SHA-256 of the endorsement key's modulus in hex. */
export async function endorsementHash({ area }: TpmKey): Promise<string> {
  if (area.key.kind !== 'rsa') throw new TypeError('The endorsement key is not RSA')
  return toHex(await sha256(area.key.modulus))
}

/** Reads the certificates of the key, in the TPM and the file. Throws SvcError `ek-certificate-missing` or `ek-certificate-wrong`. */
export async function readCertificates(
  tpm: Tpm,
  { area }: TpmKey,
  given: GivenCertificates,
): Promise<EndorsementCertificates> {
  const modulus = area.key.kind === 'rsa' ? area.key.modulus : new Uint8Array()
  const stored = firstSequence((await readNv(tpm, certificateIndex)) ?? new Uint8Array())
  const known = [...(stored ? [stored] : []), ...given.flatMap((der) => firstSequence(der) ?? [])]
  const own = known.find((der) => includesBytes(der, modulus))
  if (own === undefined) throw stored ? certificateWrong() : certificateMissing()
  const issuers = [...known.filter((der) => der !== own), ...(await readStoredChain(tpm))]
  const fitting = issuers.filter((der) => der.length <= largestCertificate)
  return { own, issuers: fitting.slice(0, mostIssuers) }
}

/** Reads the certificates of the vendor's authorities, which some vendors store beside it, concatenated over several indices. */
async function readStoredChain(tpm: Tpm): Promise<readonly Bytes[]> {
  const stored = await listHandles(tpm, firstChainIndex)
  const parts: Bytes[] = []
  for (const index of stored.filter((handle) => handle <= lastChainIndex)) {
    // An index that this user may not read, or that holds nothing, is not the vendor's.
    const part = await readNv(tpm, index).catch((error: unknown) => {
      if (!(error instanceof TpmRefusedError)) throw error
    })
    if (part) parts.push(part)
  }
  const whole = allSequences(joined(parts))
  // Or each index has certificates of its own, with padding.
  const each = parts.flatMap(allSequences)
  return each.length > whole.length ? each : whole
}

const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...part]))

const certificateMissing = (): SvcError =>
  new SvcError('ek-certificate-missing', 'the TPM holds no certificate of its endorsement key', {
    hint: "Get it from the TPM's vendor (`tpm2_getekcertificate`), or from the cloud provider for a vTPM, and name the PEM file in tpm_certificates (SVC_TPM_CERTIFICATES).",
  })

const certificateWrong = (): SvcError =>
  new SvcError(
    'ek-certificate-wrong',
    'the certificate in the TPM is of another endorsement key than the TPM makes',
    {
      hint: 'The seed of the TPM was changed since. Name a file with the right certificate in tpm_certificates (SVC_TPM_CERTIFICATES), or ask the vendor.',
    },
  )
