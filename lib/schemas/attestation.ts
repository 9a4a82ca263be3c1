import { z } from 'zod'
import {
  Address,
  Base64Url,
  SessionPublicKey,
  SessionSignature,
  UnixSeconds,
  WalletSignature,
} from '../codecs.ts'
import { maxEventLogBytes } from '../tpm/event-log.ts'
import { named } from './named.ts'
import { ReadingGrant } from './reading.ts'

const Nonce = Base64Url(96).min(1)
const mostPcrs = 24
const certificateBytes = 4_096

/** The SHA-256 of an endorsement key's RSA modulus in hex, which identifies a TPM. */
const EkHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
  .meta({ id: 'EkHash' })

/** The quote that the ICL asks for: exactly these registers of the SHA-256 bank, and whether the boot's event log is required. */
export const QuoteDemand = named('QuoteDemand', {
  pcrs: z.array(z.int().min(0).max(23)).min(1).max(mostPcrs),
  event_log: z.boolean(),
})
export type QuoteDemand = z.output<typeof QuoteDemand>

/** A nonce for one attestation (300 s, one use; spec 5). `enrolled`: a quote with it is enough. `tpm` is set when the ICL accepts TPMs. */
export const Challenge = named('Challenge', {
  nonce: Nonce,
  expires_at: UnixSeconds,
  enrolled: z.boolean(),
  tpm: QuoteDemand.optional(),
})

/** Enrols a TPM, once: the endorsement key's certificate (DER), missing parts of its chain, and the attestation key (TPMT_PUBLIC). */
export const EnrollmentRequest = named('EnrollmentRequest', {
  operator_address: Address,
  nonce: Nonce,
  ek_certificate: Base64Url(certificateBytes).min(1),
  ek_chain: z.array(Base64Url(certificateBytes).min(1)).max(6).optional(),
  ak_public: Base64Url(1_024).min(1),
})
export type EnrollmentRequest = z.output<typeof EnrollmentRequest>

/** A secret that only this TPM can recover, with TPM2_ActivateCredential (both parts without their TPM2B), and the nonce of the quote that proves it. */
export const EnrollmentAnswer = named('EnrollmentAnswer', {
  nonce: Nonce,
  credential_blob: Base64Url(256),
  encrypted_secret: Base64Url(512),
  expires_at: UnixSeconds,
})

/** Releases every TPM of an address, so that it can enrol with another one. The address signs. */
export const ReleaseRequest = named('AttestationReleaseRequest', { operator_address: Address })

/** The TPMs that were released. The address no longer has a certificate. */
export const ReleaseAnswer = named('AttestationReleaseAnswer', {
  released: z.array(EkHash).max(1_000),
})

/** The key for mock attestation, in hex. */
export const MockKeyAnswer = named('MockKeyAnswer', {
  key: z.string().regex(/^([0-9a-f]{2}){16,128}$/, 'must be hex of at least 16 bytes'),
})

/** The wallet's grant that a session key speaks for it at one ICL until `not_after`. */
export const SessionGrant = named('SessionGrant', {
  not_after: UnixSeconds,
  signature: WalletSignature,
})

/** Values of registers (hex) by index. Indices are canonical, so that no register is named twice. */
const PcrValues = z
  .record(z.string().regex(/^(\d|1\d|2[0-3])$/), z.string().regex(/^[0-9a-f]{64}$/))
  .refine((pcrs) => Object.keys(pcrs).length <= mostPcrs, 'must have at most 24 registers')

/**
 * A TPM's quote (TPMS_ATTEST), its signature (TPMT_SIGNATURE), the values of the quoted registers, and the boot's event log. The quote's
 * extraData is `attestationDigest` of the request. The ICL verifies it with the enrolled key, and ignores any key in the request.
 */
export const TpmEvidence = named('TpmEvidence', {
  backend: z.literal('tpm'),
  attest: Base64Url(1_024).min(1),
  signature: Base64Url(1_024).min(1),
  pcrs: PcrValues,
  event_log: Base64Url(maxEventLogBytes).optional(),
})
export type TpmEvidence = z.output<typeof TpmEvidence>

/** A request to attest a node. The evidence proves the digest of `attestationDigest` (spec 5). */
export const AttestationRequest = named('AttestationRequest', {
  operator_address: Address,
  nonce: Nonce,
  session_public_key: SessionPublicKey,
  session: SessionGrant,
  reading: ReadingGrant.describe('The key that prompts are wrapped for, signed by the wallet'),
  session_signature: SessionSignature.describe(
    'By the session key, over `svc-session-proof-v1` and the digest',
  ),
  evidence: z.discriminatedUnion('backend', [
    z.object({
      backend: z.literal('mock'),
      hmac: Base64Url(32).describe('HMAC-SHA256 of the digest, under the mock key'),
    }),
    TpmEvidence,
  ]),
})
export type AttestationRequest = z.output<typeof AttestationRequest>

/** A fresh attestation certificate: an ES256 JWS bound to the session key. */
export const AttestationAnswer = named('AttestationAnswer', {
  certificate: z.string().max(4_096),
  certificate_expires_at: UnixSeconds,
  request_key: Base64Url(80).describe(
    "The key of the session's requests (HMAC-SHA256), sealed for the reading key",
  ),
})
