import { hexToBytes } from 'viem'
import { type AttestationBinding, mockEvidence } from '../../lib/attestation.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { AttestationRequest } from '../../lib/schemas/attestation.ts'
import type { AttestationBackend } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** Proves a node's identity by one backend (spec 5). */
export interface Attestor {
  readonly backend: AttestationBackend
  /** Evidence of everything that the attestation binds; the backend's own part is filled in here. */
  prove(
    binding: Omit<AttestationBinding, 'backend' | 'activationSecret'>,
  ): Promise<AttestationRequest['evidence']>
}

/** The attestor of a configured backend; throws SvcError when this build or the configuration lacks it. */
export function createAttestor(
  backend: AttestationBackend,
  mockKeyHex: string | undefined,
): Attestor {
  if (backend === 'tpm') {
    throw new SvcError('tpm-unavailable', 'this build of svc-node has no TPM backend yet', {
      hint: 'Set attestation_backend to mock, or run `svc-node attest --mock`.',
    })
  }
  if (mockKeyHex === undefined) {
    throw new SvcError('mock-key-missing', 'mock attestation needs SVC_MOCK_ATTESTATION_KEY', {
      hint: "Set it to the mock key that the ICL's operator gave out (hex of at least 16 bytes).",
    })
  }
  const mockKey = hexToBytes(`0x${mockKeyHex}`)
  return {
    backend,
    async prove(binding) {
      const hmac = await mockEvidence(
        { ...binding, backend, activationSecret: new Uint8Array() },
        mockKey,
      )
      return { backend, hmac: toBase64Url(hmac) }
    },
  }
}
