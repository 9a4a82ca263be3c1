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

/** What a TPM is known by: SHA-256 in hex of the endorsement key's modulus, and how many issuers it can show for it. */
export type TpmIdentity = TpmModel & { readonly ek: string; readonly issuers: number }

/** What a TPM does when it attests; the counters as quoted. */
export type TpmFindings = TpmIdentity & {
  /** The attestation key's name in hex. */
  readonly ak: string
  readonly resetCount: number
  readonly restartCount: number
}

/** Finds out which TPM this is and that it has a certificate; throws SvcErrors that say what to do. */
export async function identifyTpm(
  options: TpmAttestorOptions,
  signal: AbortSignal,
): Promise<TpmIdentity> {
  const given = await readCertificateFile(options.certificatesPath)
  return await withTpm(options, signal, (tpm) => identify(tpm, given))
}

/** Has the TPM do everything that attesting takes, without an ICL; throws SvcErrors that say what to do. */
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

/** A TPM in one line. */
export const tpmText = ({ manufacturer, model, firmware, ek }: TpmIdentity): string =>
  `${[manufacturer, model].filter((part) => part !== '').join(' ')}, firmware ${firmware}, endorsement key ${ek.slice(0, 16)}...`
