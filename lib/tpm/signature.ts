import { concatBytes } from '../digest.ts'
import { tpmAlgorithm, tpmCurveOf, tpmHashOf } from './algorithms.ts'
import { createTpmReader, leftPadded, TpmFormatError } from './bytes.ts'
import { jwkOf, type PublicArea } from './public-area.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A signature of a TPM (TPMT_SIGNATURE). */
export type TpmSignature =
  | { readonly kind: 'rsassa'; readonly hash: number; readonly signature: Bytes }
  | { readonly kind: 'ecdsa'; readonly hash: number; readonly r: Bytes; readonly s: Bytes }

/** Reads a TPMT_SIGNATURE by RSASSA or ECDSA; throws TpmFormatError for anything else. */
export function parseTpmSignature(bytes: Uint8Array): TpmSignature {
  const reader = createTpmReader(bytes)
  const algorithm = reader.u16()
  const hash = tpmHashOf(reader.u16()).id
  const signature: TpmSignature | undefined =
    algorithm === tpmAlgorithm.rsassa
      ? { kind: 'rsassa', hash, signature: reader.sized(512) }
      : algorithm === tpmAlgorithm.ecdsa
        ? { kind: 'ecdsa', hash, r: reader.sized(66), s: reader.sized(66) }
        : undefined
  if (!signature) throw new TpmFormatError('The signature is neither RSASSA nor ECDSA')
  reader.end()
  return signature
}

/** True when the key made the signature by its own scheme. Throws TpmFormatError for a malformed signature. */
export async function isSignedByTpm(
  { key, scheme }: PublicArea,
  message: Bytes,
  signatureBytes: Uint8Array,
): Promise<boolean> {
  const signature = parseTpmSignature(signatureBytes)
  if (scheme?.algorithm !== tpmAlgorithm[signature.kind] || scheme.hash !== signature.hash) {
    return false
  }
  const { name: hash } = tpmHashOf(signature.hash)
  if (signature.kind === 'rsassa' && key.kind === 'rsa') {
    // Some runtimes throw for a signature of another length.
    if (signature.signature.length !== key.modulus.length) return false
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash }
    return crypto.subtle.verify(
      algorithm,
      await importKey(jwkOf(key), algorithm),
      signature.signature,
      message,
    )
  }
  if (signature.kind === 'ecdsa' && key.kind === 'ecc') {
    const curve = tpmCurveOf(key.curve)
    const pair = concatBytes(
      leftPadded(signature.r, curve.bytes),
      leftPadded(signature.s, curve.bytes),
    )
    const imported = await importKey(jwkOf(key), { name: 'ECDSA', namedCurve: curve.name })
    return crypto.subtle.verify({ name: 'ECDSA', hash }, imported, pair, message)
  }
  return false
}

/** Imports a key; throws TpmFormatError for an invalid one, such as a point that is not on its curve. */
async function importKey(
  jwk: JsonWebKey,
  algorithm: RsaHashedImportParams | EcKeyImportParams,
): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify'])
  } catch (error) {
    throw new TpmFormatError('The numbers of the TPM key are no key', { cause: error })
  }
}
