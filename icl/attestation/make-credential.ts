import { concatBytes, hmacSha256, toBase64Url, utf8 } from '../../lib/digest.ts'
import type { Random } from '../../lib/random.ts'
import { createTpmWriter } from '../../lib/tpm/bytes.ts'
import type { RsaPublicKey } from './rsa-public-key.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A secret for one TPM, as the contents of TPM2B_ID_OBJECT and TPM2B_ENCRYPTED_SECRET. */
export type Credential = { readonly credentialBlob: Bytes; readonly encryptedSecret: Bytes }

const hashBytes = 32
const aesBits = 128
const blockBytes = 16
const nothing = new Uint8Array()

/**
 * TPM2_MakeCredential in software. Only the TPM that holds both the endorsement key (RSA-2048 of the low range: SHA-256, AES-128-CFB) and
 * the object with this name recovers the secret (at most 32 bytes).
 */
export async function makeCredential(
  endorsementKey: RsaPublicKey,
  objectName: Uint8Array,
  secret: Uint8Array,
  random: Random,
): Promise<Credential> {
  if (secret.length > hashBytes) throw new RangeError('The secret is longer than the hash')
  const seed = random.bytes(hashBytes)
  const encryptionKey = await kdfa(seed, 'STORAGE', objectName, aesBits)
  const encrypted = await encryptCfb(encryptionKey, createTpmWriter().sized(secret).done())
  const integrityKey = await kdfa(seed, 'INTEGRITY', nothing, hashBytes * 8)
  const integrity = await hmacSha256(integrityKey, concatBytes(encrypted, objectName))
  return {
    credentialBlob: createTpmWriter().sized(integrity).raw(encrypted).done(),
    encryptedSecret: await encryptSeed(endorsementKey, seed),
  }
}

async function encryptSeed({ modulus, exponent }: RsaPublicKey, seed: Bytes): Promise<Bytes> {
  const key = await crypto.subtle.importKey(
    'jwk',
    { kty: 'RSA', n: toBase64Url(modulus), e: toBase64Url(exponent) },
    { name: 'RSA-OAEP', hash: 'SHA-256' },
    false,
    ['encrypt'],
  )
  // The terminating zero byte is part of the label.
  const algorithm = { name: 'RSA-OAEP', label: utf8('IDENTITY\0') }
  return new Uint8Array(await crypto.subtle.encrypt(algorithm, key, seed))
}

/** KDFa of the TPM's library specification (SP 800-108 in counter mode), for at most one hash of output. */
async function kdfa(key: Bytes, label: string, context: Uint8Array, bits: number): Promise<Bytes> {
  const input = createTpmWriter().u32(1).raw(utf8(label)).u8(0).raw(context).u32(bits).done()
  return (await hmacSha256(key, input)).slice(0, bits / 8)
}

/** AES-CFB with a zero vector. WebCrypto lacks it, but CTR over one block with the previous ciphertext block as the counter is the same. */
async function encryptCfb(key: Bytes, message: Bytes): Promise<Bytes> {
  const imported = await crypto.subtle.importKey('raw', key, 'AES-CTR', false, ['encrypt'])
  const blocks: Bytes[] = []
  let counter: Bytes = new Uint8Array(blockBytes)
  for (let offset = 0; offset < message.length; offset += blockBytes) {
    const algorithm = { name: 'AES-CTR', counter, length: 128 }
    const block = message.slice(offset, offset + blockBytes)
    counter = new Uint8Array(await crypto.subtle.encrypt(algorithm, imported, block))
    blocks.push(counter)
  }
  return concatBytes(...blocks)
}
