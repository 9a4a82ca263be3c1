import { ProblemError } from '../../lib/problem.ts'
import { objectAttribute, tpmAlgorithm } from '../../lib/tpm/algorithms.ts'
import { type PublicArea, parsePublicArea } from '../../lib/tpm/public-area.ts'
import { asEvidence } from './malformed.ts'

const { fixedTpm, fixedParent, sensitiveDataOrigin, restricted, sign, decrypt } = objectAttribute
const demanded = fixedTpm | fixedParent | sensitiveDataOrigin | restricted | sign
const strongHashes: readonly number[] = [tpmAlgorithm.sha256, tpmAlgorithm.sha384]
const rsaExponent = 65_537
const rsaBits: readonly number[] = [2_048, 3_072, 4_096]

/**
 * Reads an attestation key. Checks that it can sign only what its own TPM made: created in the TPM, unable to leave it, restricted, for
 * signing only, with a strong hash. Throws ProblemError `attestation-malformed` or `ak-refused`.
 */
export function checkAttestationKey(bytes: Uint8Array): PublicArea {
  const area = asEvidence(() => parsePublicArea(bytes))
  const refused = (why: string) => new ProblemError('ak-refused', `The attestation key ${why}`)
  if ((area.attributes & demanded) !== demanded) {
    throw refused('is not a restricted signing key that was born in a TPM and cannot leave it')
  }
  if (area.attributes & decrypt) throw refused('may decrypt, too')
  if (!strongHashes.includes(area.nameHash)) throw refused('has a name by a weak hash')
  if (!area.scheme || !strongHashes.includes(area.scheme.hash)) {
    throw refused('has no fixed scheme with SHA-256 or SHA-384')
  }
  const { key, scheme } = area
  if (key.kind === 'ecc') {
    if (scheme.algorithm !== tpmAlgorithm.ecdsa) throw refused('is ECC, but not for ECDSA')
    return area
  }
  if (scheme.algorithm !== tpmAlgorithm.rsassa) throw refused('is RSA, but not for RSASSA')
  const isSound =
    rsaBits.includes(key.bits) &&
    key.modulus.length * 8 === key.bits &&
    (key.modulus[0] ?? 0) >= 0x80 &&
    key.exponent === rsaExponent
  if (!isSound) throw refused('has unusual RSA numbers')
  return area
}
