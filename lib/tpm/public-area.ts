import { concatBytes, toBase64Url } from '../digest.ts'
import { tpmAlgorithm, tpmCurveOf, tpmDigest, tpmHashOf } from './algorithms.ts'
import { createTpmReader, createTpmWriter, leftPadded, TpmFormatError } from './bytes.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The public part of a TPM's asymmetric key (TPMT_PUBLIC). */
export type PublicArea = {
  readonly nameHash: number
  /** TPMA_OBJECT bits. */
  readonly attributes: number
  readonly authPolicy: Bytes
  readonly symmetric:
    | { readonly algorithm: number; readonly bits: number; readonly mode: number }
    | undefined
  readonly scheme: { readonly algorithm: number; readonly hash: number } | undefined
  readonly key: TpmKey
  /** The whole area, unchanged. */
  readonly bytes: Bytes
}

/** The numbers of a public key. */
export type TpmKey =
  | {
      readonly kind: 'rsa'
      readonly bits: number
      readonly exponent: number
      readonly modulus: Bytes
    }
  | { readonly kind: 'ecc'; readonly curve: number; readonly x: Bytes; readonly y: Bytes }

const largestArea = 1_024
const defaultExponent = 65_537
const signingSchemes: readonly number[] = [
  tpmAlgorithm.rsassa,
  tpmAlgorithm.rsapss,
  tpmAlgorithm.ecdsa,
]

/** Reads a TPMT_PUBLIC (no length before it) of an RSA or ECC key; throws TpmFormatError for anything else. */
export function parsePublicArea(bytes: Uint8Array): PublicArea {
  if (bytes.length > largestArea) throw new TpmFormatError('The public area is too long')
  const reader = createTpmReader(bytes)
  const type = reader.u16()
  if (type !== tpmAlgorithm.rsa && type !== tpmAlgorithm.ecc) {
    throw new TpmFormatError('The TPM key is neither RSA nor ECC')
  }
  const nameHash = tpmHashOf(reader.u16()).id
  const attributes = reader.u32()
  const authPolicy = reader.sized(64)
  const symmetricAlgorithm = reader.u16()
  const symmetric =
    symmetricAlgorithm === tpmAlgorithm.none
      ? undefined
      : { algorithm: symmetricAlgorithm, bits: reader.u16(), mode: reader.u16() }
  const schemeAlgorithm = reader.u16()
  if (schemeAlgorithm !== tpmAlgorithm.none && !signingSchemes.includes(schemeAlgorithm)) {
    throw new TpmFormatError('The TPM key has a scheme that is not known here')
  }
  const scheme =
    schemeAlgorithm === tpmAlgorithm.none
      ? undefined
      : { algorithm: schemeAlgorithm, hash: tpmHashOf(reader.u16()).id }
  const key = type === tpmAlgorithm.rsa ? readRsa(reader) : readEcc(reader)
  reader.end()
  return {
    nameHash,
    attributes,
    authPolicy,
    symmetric,
    scheme,
    key,
    bytes: new Uint8Array(bytes),
  }
}

function readRsa(reader: ReturnType<typeof createTpmReader>): TpmKey {
  const bits = reader.u16()
  // Zero means the default exponent.
  const exponent = reader.u32() || defaultExponent
  return { kind: 'rsa', bits, exponent, modulus: reader.sized(512) }
}

function readEcc(reader: ReturnType<typeof createTpmReader>): TpmKey {
  const curve = tpmCurveOf(reader.u16())
  const kdf = reader.u16()
  if (kdf !== tpmAlgorithm.none) tpmHashOf(reader.u16())
  return {
    kind: 'ecc',
    curve: curve.id,
    x: leftPadded(reader.sized(curve.bytes), curve.bytes),
    y: leftPadded(reader.sized(curve.bytes), curve.bytes),
  }
}

/** Returns a TPM's name of a key: the id of its hash, then the hash of its public area. */
export const nameOf = async ({ nameHash, bytes }: PublicArea): Promise<Bytes> =>
  concatBytes(createTpmWriter().u16(nameHash).done(), await tpmDigest(nameHash, bytes))

/** The key as a JSON Web Key. */
export function jwkOf(key: TpmKey): JsonWebKey {
  if (key.kind === 'ecc') {
    return {
      kty: 'EC',
      crv: tpmCurveOf(key.curve).name,
      x: toBase64Url(key.x),
      y: toBase64Url(key.y),
    }
  }
  const exponent = createTpmWriter().u32(key.exponent).done()
  const firstByte = exponent.findIndex((byte) => byte !== 0)
  return { kty: 'RSA', n: toBase64Url(key.modulus), e: toBase64Url(exponent.slice(firstByte)) }
}
