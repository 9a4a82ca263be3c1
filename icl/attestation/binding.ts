import type { AttestationBinding } from '../../lib/attestation.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AttestationRequest } from '../../lib/schemas/attestation.ts'
import { type Dependencies, publicOrigin } from '../dependencies.ts'

/** What the evidence of a request has to be bound to at this ICL. */
export const bindingOf = (
  deps: Dependencies,
  request: AttestationRequest,
  activationSecret: Uint8Array,
): AttestationBinding => ({
  origin: publicOrigin(deps),
  chainId: deps.network.chain_id,
  backend: request.evidence.backend,
  address: request.operator_address,
  nonce: request.nonce,
  activationSecret,
  sessionPublicKey: request.session_public_key,
})

/** The refusal of a backend that is not turned on. */
export const backendRefused = ({ network }: Dependencies, backend: string): ProblemError =>
  new ProblemError(
    'attestation-backend-refused',
    `This ICL does not accept the backend ${backend}. It accepts: ${
      network.attestation_backends.join(', ') || 'none'
    }`,
  )
