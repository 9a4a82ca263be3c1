import { attestationDigest } from '../../lib/attestation.ts'
import { equalBytes, fromBase64Url, hmacSha256 } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AttestationRequest } from '../../lib/schemas/attestation.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { bindingOf } from './binding.ts'
import type { Proven } from './evidence.ts'

const highestTier = 0

/** Checks that the attesting machine has the operator's mock key. Throws `attestation-hmac-invalid`. */
export async function checkMockEvidence(
  deps: { readonly network: Network },
  mockKey: Uint8Array,
  request: AttestationRequest,
  hmac: string,
): Promise<Proven> {
  const digest = await attestationDigest(bindingOf(deps, request, new Uint8Array()))
  if (!equalBytes(await hmacSha256(mockKey, digest), fromBase64Url(hmac))) {
    throw new ProblemError(
      'attestation-hmac-invalid',
      'The HMAC does not fit: check that node and ICL have the same mock attestation key',
    )
  }
  return { digest, attestation: { backend: 'mock' }, highestTier }
}
