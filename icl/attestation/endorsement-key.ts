import { fromBase64Url, sha256 } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import { followChain } from './ek-chain.ts'
import { type RsaPublicKey, readRsaPublicKey } from './rsa-public-key.ts'
import { lettersOf } from './tpm-letters.ts'
import type { TpmTrust } from './tpm-trust.ts'
import { type Certificate, readCertificate } from './x509.ts'

/** The endorsement key of a TPM that a trusted vendor certified; times in milliseconds. */
export type EndorsementKey = {
  readonly key: RsaPublicKey
  /** SHA-256 of the modulus in hex: the same for every certificate of the key. */
  readonly hash: string
  readonly model: TpmModel
  /** SHA-256 in hex of the trusted root's certificate. */
  readonly root: string
  readonly validUntil: number
}

/** The TPM's model by its vendor. The manufacturer is its four letters, or `id:` and hex when it is not letters. */
export type TpmModel = { readonly manufacturer: string; readonly model: string }

const ekUsage = '2.23.133.8.1'
const tpmManufacturer = '2.23.133.2.1'
const tpmModel = '2.23.133.2.2'
const modulusBytes = 256

/** Checks an endorsement key's certificate (DER, base64url) with the certificates that were sent along. Throws ProblemError, by cause. */
export async function checkEndorsementKey(
  trust: Pick<TpmTrust, 'roots' | 'models'>,
  certificate: string,
  chain: readonly string[],
  now: number,
): Promise<EndorsementKey> {
  const leaf = read(certificate)
  const intermediates = chain.map(read)
  const { root, validUntil } = await followChain(leaf, intermediates, trust.roots, now)
  checkPurpose(leaf)
  const key = profileKey(leaf)
  const model = modelOf(leaf)
  checkModel(trust, model)
  return {
    key,
    hash: toHex(await sha256(key.modulus)),
    model,
    root: await fingerprintOf(root),
    validUntil,
  }
}

/** SHA-256 of a certificate in hex. */
export const fingerprintOf = async (certificate: Certificate): Promise<string> =>
  toHex(await sha256(certificate.der))

/** Throws `tpm-model-refused` for a model that the operator does not accept. */
export function checkModel({ models }: Pick<TpmTrust, 'models'>, model: TpmModel): void {
  const { manufacturer } = model
  const isAccepted =
    models === undefined ||
    models.some(
      (accepted) =>
        accepted.manufacturer === manufacturer &&
        (accepted.model === undefined || accepted.model === model.model),
    )
  if (isAccepted) return
  throw new ProblemError(
    'tpm-model-refused',
    `This ICL does not accept TPMs "${model.model}" of ${manufacturer}`,
  )
}

function read(base64Url: string): Certificate {
  const certificate = readCertificate(fromBase64Url(base64Url))
  if (certificate) return certificate
  throw new ProblemError('ek-certificate-malformed', 'A certificate is not DER of an X.509 one')
}

function checkPurpose(leaf: Certificate): void {
  if (leaf.isCa) {
    throw new ProblemError('ek-purpose-wrong', 'The certificate is one of a CA')
  }
  if (!leaf.extendedUsages.includes(ekUsage)) {
    throw new ProblemError(
      'ek-purpose-wrong',
      `The certificate lacks the extended key usage ${ekUsage} of endorsement keys`,
    )
  }
}

/** Returns the key if it has the accepted profile. A TPM has several endorsement keys, and only one of them may identify its machine. */
function profileKey(leaf: Certificate): RsaPublicKey {
  const key = readRsaPublicKey(leaf.publicKey)
  const exponent = key && toHex(key.exponent)
  if (key?.modulus.length === modulusBytes && (key.modulus[0] ?? 0) >= 0x80) {
    if (exponent === '010001') return key
  }
  throw new ProblemError(
    'ek-profile-refused',
    'The endorsement key has to be RSA with 2048 bits and the exponent 65537 (the certificate at NV index 0x01c00002)',
  )
}

const modelOf = ({ directoryField }: Certificate): TpmModel => ({
  manufacturer: lettersOf(directoryField(tpmManufacturer)),
  model: directoryField(tpmModel).slice(0, 64),
})
