import { hexToBytes } from 'viem'
import type { Address } from '../../../lib/codecs.ts'
import { objectAttribute, tpmAlgorithm } from '../../../lib/tpm/algorithms.ts'
import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { fromHex } from '../../../lib/tpm/hex.ts'

type Bytes = Uint8Array<ArrayBuffer>

const { rsa, ecc, sha256, aes, cfb, ecdsa, rsassa, none } = tpmAlgorithm
const { fixedTpm, fixedParent, sensitiveDataOrigin, userWithAuth, adminWithPolicy } =
  objectAttribute
const { restricted, decrypt, sign } = objectAttribute

const bornAndStays = fixedTpm | fixedParent | sensitiveDataOrigin
const endorsementAttributes = bornAndStays | adminWithPolicy | restricted | decrypt
const attestationAttributes = bornAndStays | userWithAuth | restricted | sign

// TPM2_PolicySecret with the endorsement hierarchy (PolicyA of the TCG's EK credential profile).
const endorsementPolicy = fromHex(
  '837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa',
)
const rsaBits = 2_048
const defaultExponent = 0
const p256 = 3

/** The endorsement key of the low range, RSA-2048 (template L-1 of the TCG's EK credential profile). The vendor may set a nonce. */
export function endorsementKeyTemplate(nonce: Uint8Array = new Uint8Array()): Bytes {
  const unique = new Uint8Array(rsaBits / 8)
  unique.set(nonce.subarray(0, unique.length))
  return createTpmWriter()
    .u16(rsa)
    .u16(sha256)
    .u32(endorsementAttributes)
    .sized(endorsementPolicy)
    .u16(aes)
    .u16(128)
    .u16(cfb)
    .u16(none)
    .u16(rsaBits)
    .u32(defaultExponent)
    .sized(unique)
    .done()
}

/**
 * A node's attestation key, ECDSA on P-256. It signs only data that the TPM made. The same TPM makes the same key for the same address, so
 * nothing is stored.
 */
export const attestationKeyTemplate = (address: Address): Bytes =>
  createTpmWriter()
    .u16(ecc)
    .u16(sha256)
    .u32(attestationAttributes)
    .sized(new Uint8Array())
    .u16(none)
    .u16(ecdsa)
    .u16(sha256)
    .u16(p256)
    .u16(none)
    .sized(hexToBytes(address))
    .sized(new Uint8Array())
    .done()

/** The same key as RSASSA with 2048 bits, for TPMs without P-256. */
export const rsaAttestationKeyTemplate = (address: Address): Bytes =>
  createTpmWriter()
    .u16(rsa)
    .u16(sha256)
    .u32(attestationAttributes)
    .sized(new Uint8Array())
    .u16(none)
    .u16(rsassa)
    .u16(sha256)
    .u16(rsaBits)
    .u32(defaultExponent)
    .sized(hexToBytes(address))
    .done()
