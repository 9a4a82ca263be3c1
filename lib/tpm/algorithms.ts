import { TpmFormatError } from './bytes.ts'

/** TPM_ALG_ID values. */
export const tpmAlgorithm = {
  rsa: 0x0001,
  sha1: 0x0004,
  hmac: 0x0005,
  aes: 0x0006,
  keyedHash: 0x0008,
  sha256: 0x000b,
  sha384: 0x000c,
  sha512: 0x000d,
  none: 0x0010,
  rsassa: 0x0014,
  rsapss: 0x0016,
  ecdsa: 0x0018,
  ecc: 0x0023,
  cfb: 0x0043,
} as const

/** A hash with its TPM and WebCrypto names. */
export type TpmHash = { readonly id: number; readonly name: string; readonly bytes: number }

const hashes: ReadonlyMap<number, TpmHash> = new Map(
  [
    { id: tpmAlgorithm.sha1, name: 'SHA-1', bytes: 20 },
    { id: tpmAlgorithm.sha256, name: 'SHA-256', bytes: 32 },
    { id: tpmAlgorithm.sha384, name: 'SHA-384', bytes: 48 },
    { id: tpmAlgorithm.sha512, name: 'SHA-512', bytes: 64 },
  ].map((hash) => [hash.id, hash]),
)

/** Returns the hash of a TPM_ALG_ID; throws TpmFormatError for an unknown one. */
export function tpmHashOf(id: number): TpmHash {
  const hash = hashes.get(id)
  if (!hash) throw new TpmFormatError(`0x${id.toString(16)} is not a hash that is known here`)
  return hash
}

/** The digest of bytes by a TPM's hash. */
export const tpmDigest = async (
  id: number,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest(tpmHashOf(id).name, bytes))

/** A curve with its TPM and WebCrypto names. */
export type TpmCurve = {
  readonly id: number
  readonly name: 'P-256' | 'P-384'
  readonly bytes: number
}

const curves: ReadonlyMap<number, TpmCurve> = new Map([
  [3, { id: 3, name: 'P-256', bytes: 32 }],
  [4, { id: 4, name: 'P-384', bytes: 48 }],
])

/** Returns the curve of a TPM_ECC_CURVE; throws TpmFormatError for an unknown one. */
export function tpmCurveOf(id: number): TpmCurve {
  const curve = curves.get(id)
  if (!curve) throw new TpmFormatError(`0x${id.toString(16)} is not a curve that is known here`)
  return curve
}

/** TPMA_OBJECT bits. */
export const objectAttribute = {
  fixedTpm: 1 << 1,
  stClear: 1 << 2,
  fixedParent: 1 << 4,
  sensitiveDataOrigin: 1 << 5,
  userWithAuth: 1 << 6,
  adminWithPolicy: 1 << 7,
  noDictionaryAttack: 1 << 10,
  restricted: 1 << 16,
  decrypt: 1 << 17,
  sign: 1 << 18,
} as const
