import { concatBytes, equalBytes, fromBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { TpmEvidence } from '../../lib/schemas/attestation.ts'
import { tpmAlgorithm, tpmDigest } from '../../lib/tpm/algorithms.ts'
import { fromHex } from '../../lib/tpm/hex.ts'
import type { PublicArea } from '../../lib/tpm/public-area.ts'
import { NotAQuoteError, parseQuote, type Quote } from '../../lib/tpm/quote.ts'
import { isSignedByTpm } from '../../lib/tpm/signature.ts'
import { asEvidenceLater, malformed } from './malformed.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** Register values of the SHA-256 bank, by index. */
export type PcrValues = ReadonlyMap<number, Bytes>

/** A verified quote, with the register values that it covers. */
export type VerifiedQuote = { readonly quote: Quote; readonly pcrs: PcrValues }

/**
 * Verifies a quote with the enrolled key. The signature comes first, then the signed contents: magic, type, extraData, exactly the demanded
 * registers of the SHA-256 bank, and their values. Throws ProblemError with the code of the cause.
 */
export async function verifyQuote(
  key: PublicArea,
  evidence: TpmEvidence,
  expectedExtraData: Uint8Array,
  demandedPcrs: readonly number[],
): Promise<VerifiedQuote> {
  const attest = fromBase64Url(evidence.attest)
  const isSigned = await asEvidenceLater(() =>
    isSignedByTpm(key, attest, fromBase64Url(evidence.signature)),
  )
  if (!isSigned) {
    throw new ProblemError(
      'quote-signature-invalid',
      'The attestation key that this node enrolled did not sign the quote. Enrol again if it has another one',
    )
  }
  const quote = readQuote(attest)
  if (!equalBytes(quote.extraData, expectedExtraData)) {
    throw new ProblemError(
      'quote-binding-wrong',
      'The quote is not over the digest of this ICL, chain, address, nonce, activation secret and session key',
    )
  }
  checkSelection(quote, demandedPcrs)
  const pcrs = new Map(demandedPcrs.map((pcr) => [pcr, quotedValue(evidence, pcr)]))
  // The TPM hashes the values in the order of the indices, with the hash of the key's scheme.
  const values = [...demandedPcrs].sort((a, b) => a - b).map((pcr) => quotedValue(evidence, pcr))
  const hash = key.scheme?.hash ?? tpmAlgorithm.sha256
  if (!equalBytes(await tpmDigest(hash, concatBytes(...values)), quote.pcrDigest)) {
    throw new ProblemError('quote-digest-wrong', 'The register values are not the quoted ones')
  }
  return { quote, pcrs }
}

function readQuote(attest: Bytes): Quote {
  try {
    return parseQuote(attest)
  } catch (error) {
    if (error instanceof NotAQuoteError) {
      throw new ProblemError(`quote-${error.part}-wrong`, error.message)
    }
    throw malformed(error)
  }
}

function checkSelection({ selections }: Quote, demanded: readonly number[]): void {
  const [only] = selections
  const isExact =
    selections.length === 1 &&
    only?.bank === tpmAlgorithm.sha256 &&
    only.pcrs.length === demanded.length &&
    demanded.every((pcr) => only.pcrs.includes(pcr))
  if (isExact) return
  throw new ProblemError(
    'quote-selection-wrong',
    `The quote has to be about the registers ${demanded.join(', ')} of the SHA-256 bank and no others`,
  )
}

function quotedValue({ pcrs }: TpmEvidence, pcr: number): Bytes {
  const value = pcrs[String(pcr)]
  if (value !== undefined) return fromHex(value)
  throw new ProblemError('quote-digest-wrong', `The value of PCR ${pcr} is missing`)
}
