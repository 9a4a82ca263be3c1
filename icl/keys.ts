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
} from '../lib/digest.ts'
import type { JsonWebKeySet } from '../lib/schemas/network.ts'
import { type SigningKey, signingKeyFromSeed } from '../lib/session-key.ts'

/** What an attestation certificate says (an ES256 JWS; times in Unix seconds). */
type CertificateClaims = {
  readonly iss: string
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly cnf: { readonly jkt: string }
  readonly att: string
}

/** Everything that the ICL signs, seals or authenticates with; all of it is made from one secret. */
export type IclKeys = {
  /** Signs tallies and draws. */
  readonly tally: SigningKey
  readonly jwks: JsonWebKeySet
  signCertificate(claims: CertificateClaims): Promise<string>
  /** A token that only this ICL can open. */
  sealToken(purpose: string, content: unknown): Promise<string>
  /** The content of a token, undefined when it is not one of this ICL for this purpose. */
  openToken(purpose: string, token: string): Promise<unknown>
  /** A tag that only this ICL can make. */
  tag(purpose: string, message: Uint8Array): Promise<Uint8Array<ArrayBuffer>>
  /** True when `tag` is that of the message, in constant time. */
  isTag(purpose: string, message: Uint8Array, tag: Uint8Array): Promise<boolean>
}

/** Derives the ICL's keys from its secret (at least 32 bytes): the same secret gives the same keys on every replica. */
export async function deriveKeys(secret: Uint8Array): Promise<IclKeys> {
  const derive = (info: string, length = 32) => hkdfSha256(secret, new Uint8Array(), info, length)
  const tally = await signingKeyFromSeed(await derive('svc-icl-tally-v1'))
  const certificate = await certificateKey(await derive('svc-icl-certificate-v1', 48))
  const tokenKey = await derive('svc-icl-token-v1')
  const tagKey = await derive('svc-icl-tag-v1')
  const tag = (purpose: string, message: Uint8Array) =>
    hmacSha256(tagKey, concatBytes(utf8(`${purpose}\n`), message))

  return {
    tally,
    jwks: {
      keys: [
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
    },
    signCertificate: (claims) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'ES256', typ: 'svc-attestation+jwt', kid: certificate.kid })
        .sign(certificate.key),
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
export const readTokenOf = async (keys: IclKeys, jobId: string): Promise<string> =>
  toBase64Url(await keys.tag('read', utf8(jobId)))

/** True when the token reads this job. */
export async function isReadToken(keys: IclKeys, jobId: string, token: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return false
  return keys.isTag('read', utf8(jobId), fromBase64Url(token))
}
