import { hexToBytes } from 'viem'
import { concatBytes, fromBase64Url, sha256, toBase64Url, utf8 } from './digest.ts'
import { hostCrypto } from './host-crypto.ts'
import { isCanonicalSignature, isStrongKey } from './strong-key.ts'

type Bytes = Uint8Array<ArrayBuffer>

// The fixed part of an Ed25519 private key in PKCS #8 (RFC 8410); the 32-byte seed follows.
const pkcs8Prefix = hexToBytes('0x302e020100300506032b657004220420')

/** An Ed25519 signing key, which keeps its private half inside. */
export type SigningKey = {
  /** 32 bytes in base64url. */
  readonly publicKey: string
  /** RFC 7638 thumbprint in base64url, the key's name on the wire. */
  readonly thumbprint: string
  /** Signs; 64 bytes in base64url. */
  readonly sign: (message: Uint8Array<ArrayBuffer>) => Promise<string>
}

/** Derives the signing key from a 32-byte seed. The same seed gives the same key. */
export async function signingKeyFromSeed(seed: Uint8Array): Promise<SigningKey> {
  const pkcs8 = concatBytes(pkcs8Prefix, seed)
  const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign'])
  const { x: publicKey } = await crypto.subtle.exportKey('jwk', privateKey)
  if (publicKey === undefined) throw new TypeError('Ed25519 private key has no public half')
  const host = hostCrypto
  const hostKey = host?.createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const sign = async (message: Bytes): Promise<Uint8Array> =>
    host && hostKey
      ? host.sign(null, message, hostKey)
      : new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, message))
  return {
    publicKey,
    thumbprint: await thumbprintOf(publicKey),
    sign: async (message) => toBase64Url(await sign(message)),
  }
}

/** The RFC 7638 thumbprint of an Ed25519 public key in base64url. */
export const thumbprintOf = async (publicKey: string): Promise<string> =>
  toBase64Url(await sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${publicKey}"}`)))

type Verify = (signature: Bytes, message: Bytes) => Promise<boolean> | boolean

// A cache by the key's text, which determines the verifier. Callers check for each signature whether a key counts for its node.
const mostKeys = 1_024
const imported = new Map<string, Promise<Verify>>()

/** Returns a key's verifier, which is imported once. Rejects for an invalid key. */
function verifierOf(publicKey: string): Promise<Verify> {
  const known = imported.get(publicKey)
  if (known) return known
  const made = importVerifier(publicKey)
  imported.set(publicKey, made)
  made.catch(() => imported.delete(publicKey))
  const oldest = imported.size > mostKeys ? imported.keys().next().value : undefined
  if (oldest !== undefined) imported.delete(oldest)
  return made
}

async function importVerifier(publicKey: string): Promise<Verify> {
  const raw = fromBase64Url(publicKey)
  if (!isStrongKey(raw)) throw new TypeError('The key is weak')
  if (hostCrypto) {
    const host = hostCrypto
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: toBase64Url(raw) }
    const key = host.createPublicKey({ key: jwk, format: 'jwk' })
    return (signature, message) => host.verify(null, message, key, signature)
  }
  const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
  return (signature, message) => crypto.subtle.verify('Ed25519', key, signature, message)
}

/** True when the private half of `publicKey` signed `message` (key, and a signature in text, in base64url). False for a weak key. */
export async function verifySignature(
  publicKey: string,
  signature: string | Uint8Array<ArrayBuffer>,
  message: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  try {
    const rawSignature = typeof signature === 'string' ? fromBase64Url(signature) : signature
    if (!isCanonicalSignature(rawSignature)) return false
    const verify = await verifierOf(publicKey)
    return await verify(rawSignature, message)
  } catch {
    // A key or signature that cannot be parsed verifies nothing.
    return false
  }
}
