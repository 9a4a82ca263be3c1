import type { Address } from './codecs.ts'
import { concatBytes, fromBase64Url, sha256, utf8 } from './digest.ts'
import type { AttestationBackend } from './schemas/nodes.ts'

/** The values that an attestation binds together. */
export type AttestationBinding = {
  /** The ICL's public origin. Evidence for one ICL is invalid at another. */
  readonly origin: string
  readonly chainId: number
  readonly backend: AttestationBackend
  readonly address: Address
  readonly nonce: string
  /** The secret that only the enrolling TPM can recover, in the quote that completes an enrolment. Empty in other quotes, and for mock. */
  readonly activationSecret: Uint8Array
  /** base64url */
  readonly sessionPublicKey: string
}

const lengthPrefixed = (part: Uint8Array) =>
  concatBytes(Uint8Array.of(part.length >> 8, part.length & 0xff), part)

/** SHA-256 over every part with a 16-bit big-endian length before it, starting with "svc-attest-v1" (spec 5). */
export const attestationDigest = (binding: AttestationBinding): Promise<Uint8Array<ArrayBuffer>> =>
  sha256(
    concatBytes(
      ...[
        utf8('svc-attest-v1'),
        utf8(binding.origin),
        utf8(String(binding.chainId)),
        utf8(binding.backend),
        utf8(binding.address),
        utf8(binding.nonce),
        binding.activationSecret,
        fromBase64Url(binding.sessionPublicKey),
      ].map(lengthPrefixed),
    ),
  )

/** Returns what the session key signs to prove that its private half attests: "svc-session-proof-v1", then the digest. */
export const sessionProofBytes = (digest: Uint8Array): Uint8Array<ArrayBuffer> =>
  concatBytes(utf8('svc-session-proof-v1'), digest)
