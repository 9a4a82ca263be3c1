import { concatBytes, fromBase64Url, sha256, toBase64Url, utf8 } from './digest.ts'
import { isCanonicalSignature, isStrongKey } from './strong-key.ts'

// The fixed part of an Ed25519 private key in PKCS #8 (RFC 8410); the 32-byte seed follows.
const pkcs8Prefix = Uint8Array.of(
  0x30,
  0x2e,
  0x02,
  0x01,
  0x00,
  0x30,
  0x05,
  0x06,
  0x03,
  0x2b,
  0x65,
  0x70,
  0x04,
  0x22,
  0x04,
  0x20,
)

/** An Ed25519 key that signs; its private half stays inside. */
export type SigningKey = {
  /** 32 bytes in base64url. */
  readonly publicKey: string
  /** RFC 7638 thumbprint in base64url, the key's name on the wire. */
  readonly thumbprint: string
  /** Signs; 64 bytes in base64url. */
  readonly sign: (message: Uint8Array<ArrayBuffer>) => Promise<string>
}

/** Makes the signing key of a 32-byte seed: the same seed gives the same key. */
export async function signingKeyFromSeed(seed: Uint8Array): Promise<SigningKey> {
  const privateKey = await crypto.subtle.importKey(
    'pkcs8',
    concatBytes(pkcs8Prefix, seed),
    'Ed25519',
    true,
    ['sign'],
  )
  const { x: publicKey } = await crypto.subtle.exportKey('jwk', privateKey)
  if (publicKey === undefined) throw new TypeError('Ed25519 private key has no public half')
  return {
    publicKey,
    thumbprint: await thumbprintOf(publicKey),
    sign: async (message) =>
      toBase64Url(new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, message))),
  }
}

/** The RFC 7638 thumbprint of an Ed25519 public key in base64url. */
export const thumbprintOf = async (publicKey: string): Promise<string> =>
  toBase64Url(await sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${publicKey}"}`)))

/** True when `signature` over `message` was made by the private half of `publicKey` (both base64url); a weak key has signed nothing. */
export async function verifySignature(
  publicKey: string,
  signature: string,
  message: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  try {
    const [rawKey, rawSignature] = [fromBase64Url(publicKey), fromBase64Url(signature)]
    if (!isStrongKey(rawKey) || !isCanonicalSignature(rawSignature)) return false
    const key = await crypto.subtle.importKey('raw', rawKey, 'Ed25519', false, ['verify'])
    return await crypto.subtle.verify('Ed25519', key, rawSignature, message)
  } catch {
    // A key or signature that cannot be parsed has signed nothing.
    return false
  }
}
