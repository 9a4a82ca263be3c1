import { z } from 'zod'
import { Address, Base64Url, SessionPublicKey, UnixSeconds, WalletSignature } from '../codecs.ts'

/** A nonce for one attestation of one address; valid for 300 s and for one use (spec 5). */
export const Challenge = z
  .object({ nonce: Base64Url(96).min(1), expires_at: UnixSeconds, enrolled: z.boolean() })
  .meta({ id: 'Challenge' })

/** The wallet's word that a session key speaks for it at one ICL until `not_after`. */
export const SessionGrant = z
  .object({ not_after: UnixSeconds, signature: WalletSignature })
  .meta({ id: 'SessionGrant' })

/** What a node sends to be attested; the evidence proves the digest that `attestationDigest` makes (spec 5). */
export const AttestationRequest = z
  .object({
    operator_address: Address,
    nonce: Base64Url(96).min(1),
    session_public_key: SessionPublicKey,
    session: SessionGrant,
    evidence: z.discriminatedUnion('backend', [
      z.object({ backend: z.literal('mock'), hmac: Base64Url(32) }),
      z.object({ backend: z.literal('tpm'), quote: z.string().max(65_536) }),
    ]),
  })
  .meta({ id: 'AttestationRequest' })
export type AttestationRequest = z.output<typeof AttestationRequest>

/** A fresh attestation certificate: an ES256 JWS bound to the session key. */
export const AttestationAnswer = z
  .object({ certificate: z.string().max(4_096), certificate_expires_at: UnixSeconds })
  .meta({ id: 'AttestationAnswer' })
