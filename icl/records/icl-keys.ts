import { p256 } from '@noble/curves/nist.js'
import { CompactEncrypt, calculateJwkThumbprint, compactDecrypt, importJWK, SignJWT } from 'jose'
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

/** What an attestation certificate says of the evidence: for a TPM its endorsement key's hash, its attestation key's name and its count of machine starts. */
export type CertificateAttestation =
  | { readonly backend: 'mock' }
  | { readonly backend: 'tpm'; readonly ek: string; readonly ak: string; readonly reset: number }

/** What an attestation certificate says (an ES256 JWS; times in Unix seconds). */
type CertificateClaims = {
  readonly iss: string
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly cnf: { readonly jkt: string }
  readonly att: CertificateAttestation
}

/** What the ICL signs with for a time: rotated, see `keyring.ts`. */
export type SigningKeys = {
  /** Signs tallies, lists and reputation events. */
  readonly tally: SigningKey
  /** The public halves of both keys. */
  readonly publicKeys: readonly PublicKey[]
  signCertificate(claims: CertificateClaims): Promise<string>
}

/** What only the ICL itself has to recognise again; made from the secret alone, whatever is rotated. */
export type TokenKeys = {
  /** A token that only this ICL can open. */
  sealToken(purpose: string, content: unknown): Promise<string>
  /** The content of a token, undefined when it is not one of this ICL for this purpose. */
  openToken(purpose: string, token: string): Promise<unknown>
  /** A tag that only this ICL can make. */
  tag(purpose: string, message: Uint8Array): Promise<Uint8Array<ArrayBuffer>>
  /** True when `tag` is that of the message, in constant time. */
  isTag(purpose: string, message: Uint8Array, tag: Uint8Array): Promise<boolean>
}

/** Everything that the ICL signs, seals or authenticates with; all of it is made from one secret. */
export type IclKeys = TokenKeys & {
  /** The key that signs now; another one after a rotation, so it is read once for a signature and its key. */
  readonly tally: SigningKey
  /** Every public key that a signature of this ICL may have been made with. */
  readonly jwks: JsonWebKeySet
  signCertificate(claims: CertificateClaims): Promise<string>
  /** Learns of rotations. */
  refresh(): Promise<void>
}

type PublicKey = JsonWebKeySet['keys'][number]

/** The ICL's keys without rotation: the same secret (at least 32 bytes) gives the same keys. */
export async function deriveKeys(secret: Uint8Array): Promise<IclKeys> {
  const { tally, publicKeys, signCertificate } = await deriveSigningKeys(secret, 1)
  const tokens = await deriveTokenKeys(secret)
  const jwks = { keys: [...publicKeys] }
  return { ...tokens, tally, jwks, signCertificate, refresh: async () => {} }
}

const derive = (secret: Uint8Array, info: string, length = 32) =>
  hkdfSha256(secret, new Uint8Array(), info, length)

/** The keys of one generation (1 and up), the same on every replica. */
export async function deriveSigningKeys(
  secret: Uint8Array,
  generation: number,
): Promise<SigningKeys> {
  const suffix = generation === 1 ? '' : `/${generation}`
  const tally = await signingKeyFromSeed(await derive(secret, `svc-icl-tally-v1${suffix}`))
  const certificate = await certificateKey(
    await derive(secret, `svc-icl-certificate-v1${suffix}`, 48),
  )
  return {
    tally,
    publicKeys: [
      {
        kty: 'OKP',
        crv: 'Ed25519',
        x: tally.publicKey,
        kid: tally.thumbprint,
        alg: 'EdDSA',
        use: 'sig',
      },
      { ...certificate.publicJwk, kid: certificate.kid, alg: 'ES256', use: 'sig' },
    ],
    signCertificate: (claims) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'ES256', typ: 'svc-attestation+jwt', kid: certificate.kid })
        .sign(certificate.key),
  }
}

/** The keys of tokens and tags, the same on every replica. */
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
        // Whatever cannot be opened was not sealed here.
        return undefined
      }
    },
    tag,
    isTag: async (purpose, message, claimed) => equalBytes(await tag(purpose, message), claimed),
  }
}

/** A P-256 key from 48 uniform bytes (the extra 16 make the reduction's bias negligible). */
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

/** The token with which a job is read: bound to the job, needing no store. */
export const readTokenOf = async (keys: Pick<TokenKeys, 'tag'>, jobId: string): Promise<string> =>
  toBase64Url(await keys.tag('read', utf8(jobId)))

/** True when the token reads this job. */
export async function isReadToken(keys: IclKeys, jobId: string, token: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return false
  return keys.isTag('read', utf8(jobId), fromBase64Url(token))
}
