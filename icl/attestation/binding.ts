import type { AttestationBinding } from '../../lib/attestation.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AttestationRequest } from '../../lib/schemas/attestation.ts'
import { type Network, publicOrigin } from '../../lib/schemas/network.ts'

/** Returns what the evidence of a request has to be bound to at this ICL. */
export const bindingOf = (
  { network }: { readonly network: Network },
  request: AttestationRequest,
  activationSecret: Uint8Array,
): AttestationBinding => ({
  origin: publicOrigin(network),
  chainId: network.chain_id,
  backend: request.evidence.backend,
  address: request.operator_address,
  nonce: request.nonce,
  activationSecret,
  sessionPublicKey: request.session_public_key,
})

/** The refusal of a backend that is not turned on. */
export const backendRefused = (network: Network, backend: string): ProblemError =>
  new ProblemError(
    'attestation-backend-refused',
    `This ICL does not accept the backend ${backend}. It accepts: ${
      network.attestation_backends.join(', ') || 'none'
    }`,
  )
