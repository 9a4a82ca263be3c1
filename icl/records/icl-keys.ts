import { p256 } from '@noble/curves/nist.js'
import { CompactEncrypt, calculateJwkThumbprint, compactDecrypt, importJWK, SignJWT } from 'jose'
import type { Address } from '../../lib/codecs.ts'
import {
  concatBytes,
  equalBytes,
  fromBase64Url,
  hkdfSha256,
  hmacSha256,
  toBase64Url,
  utf8,
} from '../../lib/digest.ts'
import type { JsonWebKeySet } from '../../lib/schemas/network.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import { type IclStatement, statementBytes } from '../../lib/statements.ts'

/** The evidence in an attestation certificate. For a TPM: the endorsement key's hash, the attestation key's name and the reset count. */
export type CertificateAttestation =
  | { readonly backend: 'mock' }
  | { readonly backend: 'tpm'; readonly ek: string; readonly ak: string; readonly reset: number }

/** The claims of an attestation certificate (an ES256 JWS; times in Unix seconds). */
type CertificateClaims = {
  readonly iss: string
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly cnf: { readonly jkt: string }
  readonly att: CertificateAttestation
}

/** The signing keys of one generation; `keyring.ts` rotates them. */
export type SigningKeys = {
  /** Signs tallies, lists and reputation events. */
  readonly tally: SigningKey
  /** The public halves of both keys. */
  readonly publicKeys: readonly PublicKey[]
  signCertificate(claims: CertificateClaims): Promise<string>
}

/** Seals tokens and makes tags that only the ICL itself checks. The keys depend on the secret alone, and do not rotate. */
export type TokenKeys = {
  /** Returns a token that only this ICL can open. */
  sealToken(purpose: string, content: unknown): Promise<string>
  /** Returns the content of a token; undefined when this ICL did not seal it for this purpose. */
  openToken(purpose: string, token: string): Promise<unknown>
  /** Returns a tag that only this ICL can make. */
  tag(purpose: string, message: Uint8Array): Promise<Uint8Array<ArrayBuffer>>
  /** True when `tag` is the message's tag; compares in constant time. */
  isTag(purpose: string, message: Uint8Array, tag: Uint8Array): Promise<boolean>
}

/** All keys of the ICL, derived from one secret. */
export type IclKeys = TokenKeys & {
  /** The key that signs now. A rotation changes it, so a caller reads it once to get a signature and its matching key. */
  readonly tally: SigningKey
  /** Every public key that may verify a signature of this ICL. */
  readonly jwks: JsonWebKeySet
  /** False when a key that signs now is withdrawn. */
  readonly isPublished: boolean
  signCertificate(claims: CertificateClaims): Promise<string>
  /** Loads rotations from the store. */
  refresh(): Promise<void>
}

type PublicKey = JsonWebKeySet['keys'][number]

/** Derives the ICL's keys without rotation: the same secret (at least 32 bytes) gives the same keys. */
export async function deriveKeys(secret: Uint8Array): Promise<IclKeys> {
  const { tally, publicKeys, signCertificate } = await deriveSigningKeys(secret, 1)
  const tokens = await deriveTokenKeys(secret)
  const jwks = { keys: [...publicKeys] }
  return { ...tokens, tally, jwks, isPublished: true, signCertificate, refresh: async () => {} }
}

const derive = (secret: Uint8Array, info: string, length = 32) =>
  hkdfSha256(secret, new Uint8Array(), info, length)

/** Derives the signing keys of one generation (1 and up), the same on every replica. */
export async function deriveSigningKeys(
  secret: Uint8Array,
  generation: number,
): Promise<SigningKeys> {
  const suffix = generation === 1 ? '' : `/${generation}`
  const tally = await signingKeyFromSeed(await derive(secret, `svc-icl-tally-v1${suffix}`))
  const tallyJwk = { kty: 'OKP', crv: 'Ed25519', x: tally.publicKey }
  const seed = await derive(secret, `svc-icl-certificate-v1${suffix}`, 48)
  const certificate = await certificateKey(seed)
  return {
    tally,
    publicKeys: [
      { ...tallyJwk, kid: tally.thumbprint, alg: 'EdDSA', use: 'sig' },
      { ...certificate.publicJwk, kid: certificate.kid, alg: 'ES256', use: 'sig' },
    ],
    signCertificate: (claims) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'ES256', typ: 'svc-attestation+jwt', kid: certificate.kid })
        .sign(certificate.key),
  }
}

/** Derives the keys of tokens and tags, the same on every replica. */
export async function deriveTokenKeys(secret: Uint8Array): Promise<TokenKeys> {
  const tokenKey = await derive(secret, 'svc-icl-token-v1')
  const tagKey = await derive(secret, 'svc-icl-tag-v1')
  const tag = (purpose: string, message: Uint8Array) =>
    hmacSha256(tagKey, concatBytes(utf8(`${purpose}\n`), message))
  return {
    sealToken: (purpose, content) =>
      new CompactEncrypt(utf8(JSON.stringify(content)))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: purpose })
        .encrypt(tokenKey),
    openToken: async (purpose, token) => {
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(token, tokenKey, {
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        })
        if (protectedHeader.typ !== purpose) return undefined
        return JSON.parse(new TextDecoder().decode(plaintext))
      } catch {
        // This ICL did not seal a token that it cannot open.
        return undefined
      }
    },
    tag,
    isTag: async (purpose, message, claimed) => equalBytes(await tag(purpose, message), claimed),
  }
}

/** Makes a P-256 key from 48 uniform bytes (the extra 16 make the reduction's bias negligible). */
async function certificateKey(seed: Uint8Array) {
  const secretKey = p256.utils.randomSecretKey(seed)
  const publicKey = p256.getPublicKey(secretKey, false)
  const publicJwk = {
    kty: 'EC',
    crv: 'P-256',
    x: toBase64Url(publicKey.slice(1, 33)),
    y: toBase64Url(publicKey.slice(33, 65)),
  }
  const key = await importJWK({ ...publicJwk, d: toBase64Url(secretKey) }, 'ES256')
  return { key, publicJwk, kid: await calculateJwkThumbprint(publicJwk) }
}

/** Returns a statement with the key that signs now, and its signature. */
export async function signStatement<Body extends IclStatement>(
  { tally }: Pick<IclKeys, 'tally'>,
  body: Body,
) {
  return { body, key: tally.publicKey, signature: await tally.sign(statementBytes(body)) }
}

/** Returns a job's read token, which is computed from the job id and not stored. */
export const readTokenOf = async (keys: Pick<TokenKeys, 'tag'>, jobId: string): Promise<string> =>
  toBase64Url(await keys.tag('read', utf8(jobId)))

/** True when the token reads this job. */
export async function isReadToken(keys: IclKeys, jobId: string, token: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return false
  return keys.isTag('read', utf8(jobId), fromBase64Url(token))
}

/** Returns the key of a session's requests, which is computed for each request and not stored. */
export const requestKeyOf = (
  keys: Pick<TokenKeys, 'tag'>,
  address: Address,
  thumbprint: string,
): Promise<Uint8Array<ArrayBuffer>> => keys.tag('request', utf8(`${address}\n${thumbprint}`))
