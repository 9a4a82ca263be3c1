import type { Address } from '../../../lib/codecs.ts'
import { toHex } from '../../../lib/tpm/hex.ts'
import { nameOf } from '../../../lib/tpm/public-area.ts'
import { parseQuote } from '../../../lib/tpm/quote.ts'
import { withAttestationKey } from './attestation-key.ts'
import { readModel, type TpmModel } from './capabilities.ts'
import { readCertificateFile } from './certificate-file.ts'
import { endorsementHash, readCertificates, withEndorsementKey } from './endorsement.ts'
import { quotePcrs } from './quote.ts'
import { type TpmAttestorOptions, withTpm } from './tpm.ts'
import type { Tpm } from './tpm-command.ts'

/** A TPM's identity: the SHA-256 of the endorsement key's modulus in hex, and the number of issuer certificates found. */
export type TpmIdentity = TpmModel & { readonly ek: string; readonly issuers: number }

/** A TPM's values when it attests. The counters are those of a quote. */
export type TpmFindings = TpmIdentity & {
  /** The attestation key's name in hex. */
  readonly ak: string
  readonly resetCount: number
  readonly restartCount: number
}

/** Identifies a TPM and checks that it has a certificate. Throws SvcErrors with a remedy. */
export async function identifyTpm(
  options: TpmAttestorOptions,
  signal: AbortSignal,
): Promise<TpmIdentity> {
  const given = await readCertificateFile(options.certificatesPath)
  return await withTpm(options, signal, (tpm) => identify(tpm, given))
}

/** Makes the TPM do everything that an attestation needs, without an ICL. Throws SvcErrors with a remedy. */
export async function inspectTpm(
  options: TpmAttestorOptions,
  address: Address,
  signal: AbortSignal,
): Promise<TpmFindings> {
  const given = await readCertificateFile(options.certificatesPath)
  return await withTpm(options, signal, async (tpm) => {
    const identity = await identify(tpm, given)
    return await withAttestationKey(tpm, address, async (key) => {
      const nothingBound = new Uint8Array(32)
      const { attest } = await quotePcrs(tpm, key, nothingBound, usualPcrs)
      const { resetCount, restartCount } = parseQuote(attest)
      return { ...identity, ak: toHex(await nameOf(key.area)), resetCount, restartCount }
    })
  })
}

const usualPcrs = [0, 1, 2, 3, 4, 5, 6, 7]

async function identify(
  tpm: Tpm,
  given: Awaited<ReturnType<typeof readCertificateFile>>,
): Promise<TpmIdentity> {
  const model = await readModel(tpm)
  return await withEndorsementKey(tpm, async (key) => {
    const { issuers } = await readCertificates(tpm, key, given)
    return { ...model, ek: await endorsementHash(key), issuers: issuers.length }
  })
}

/** Describes a TPM in one line. */
export const tpmText = ({ manufacturer, model, firmware, ek }: TpmIdentity): string =>
  `${[manufacturer, model].filter((part) => part !== '').join(' ')}, firmware ${firmware}, endorsement key ${ek.slice(0, 16)}...`
