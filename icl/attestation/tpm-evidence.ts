import { attestationDigest } from '../../lib/attestation.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { fromBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AttestationRequest, TpmEvidence } from '../../lib/schemas/attestation.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { parsePublicArea } from '../../lib/tpm/public-area.ts'
import type { IclKeys } from '../records/icl-keys.ts'
import type { Revocations } from '../records/revocations.ts'
import { type Enrollment, isCountingBack, type TpmCounters } from '../rules/enrollment.ts'
import type { Store } from '../store/store.ts'
import { bindingOf } from './binding.ts'
import { checkEkFree, findEkHolder } from './ek-binding.ts'
import { checkModel, fingerprintOf } from './endorsement-key.ts'
import type { Proven } from './evidence.ts'
import { checkPcrPolicy } from './pcr-policy.ts'
import { activationSecretOf, findPendingEnrollment } from './pending-enrollment.ts'
import type { TpmTrust } from './tpm-trust.ts'
import { verifyQuote } from './verify-quote.ts'

type Verifying = {
  readonly store: Store
  readonly clock: Clock
  readonly keys: Pick<IclKeys, 'tag'>
  readonly network: Network
  readonly revocations: Revocations
}

/**
 * Checks a quote. A quote under the nonce of an enrolment has to include the activation secret, and completes that enrolment. A quote under
 * the nonce of a challenge has to come from the TPM that the node has enrolled. Throws ProblemError with the code of the cause.
 */
export async function checkTpmEvidence(
  deps: Verifying,
  trust: TpmTrust,
  request: AttestationRequest,
  evidence: TpmEvidence,
): Promise<Proven> {
  const { operator_address: address, nonce } = request
  const pending = await findPendingEnrollment(deps, address, nonce)
  const enrollment = pending ?? (await findEnrollment(deps, trust, address))
  await checkNotRevoked(deps, enrollment)
  if (pending) await checkEkFree(deps, pending.ek, address)
  const secret = pending ? await activationSecretOf(deps, address, nonce) : new Uint8Array()
  const digest = await attestationDigest(bindingOf(deps, request, secret))
  const key = parsePublicArea(fromBase64Url(enrollment.akPublic))
  const { quote, pcrs } = await verifyQuote(key, evidence, digest, trust.policy.pcrs)
  const counters: TpmCounters = {
    reset: quote.resetCount,
    restart: quote.restartCount,
    clock: quote.clock.toString(),
  }
  checkCounters(enrollment.counters, counters)
  await checkPcrPolicy(trust.policy, pcrs, evidence.event_log)
  const { ek, ak } = enrollment
  return {
    digest,
    attestation: { backend: 'tpm', ek, ak, reset: counters.reset },
    highestTier: trust.highestTier,
    enrollment: { ...enrollment, counters },
    isFirst: pending !== undefined,
  }
}

/** Returns the TPM that an address has enrolled, if it would still be accepted. Throws `tpm-not-enrolled` or `tpm-model-refused`. */
async function findEnrollment(
  deps: Verifying,
  trust: TpmTrust,
  address: Address,
): Promise<Enrollment> {
  const enrollment = (await deps.store.findNode(address))?.document.enrollment
  const notEnrolled = (why: string) => new ProblemError('tpm-not-enrolled', `${why}. Enrol first`)
  if (!enrollment || (await findEkHolder(deps, enrollment.ek)) !== address) {
    throw notEnrolled('The ICL knows no TPM of this node')
  }
  const roots = await Promise.all(trust.roots.map(fingerprintOf))
  if (!roots.includes(enrollment.root)) {
    throw notEnrolled('The ICL does not trust the root any more that vouched for this TPM')
  }
  if (enrollment.validUntil < deps.clock.now()) {
    throw notEnrolled('A certificate that vouched for this TPM has ended')
  }
  checkModel(trust, enrollment)
  return enrollment
}

/** True when a quote under the nonce of a challenge can be enough for this address, because it has enrolled a TPM. */
export async function isEnrolled(
  deps: Verifying,
  trust: TpmTrust,
  address: Address,
): Promise<boolean> {
  try {
    await findEnrollment(deps, trust, address)
    return true
  } catch (error) {
    if (error instanceof ProblemError && error.status === 403) return false
    throw error
  }
}

/** Throws `ek-revoked` or `ak-revoked` for a TPM that the operator has revoked. */
export async function checkNotRevoked(
  { revocations }: Pick<Verifying, 'revocations'>,
  { ek, ak }: Pick<Enrollment, 'ek' | 'ak'>,
): Promise<void> {
  if (await revocations.includes([{ kind: 'ek', id: ek }])) {
    throw new ProblemError('ek-revoked', 'The operator of this ICL has revoked this TPM')
  }
  if (await revocations.includes([{ kind: 'ak', id: ak }])) {
    throw new ProblemError(
      'ak-revoked',
      'The operator of this ICL has revoked this attestation key',
    )
  }
}

/** Throws `quote-counter-back` when the TPM's counters went back. */
export function checkCounters(before: TpmCounters | undefined, after: TpmCounters): void {
  if (before && isCountingBack(before, after)) {
    throw new ProblemError(
      'quote-counter-back',
      'The TPM counts less than in an earlier quote: an old quote, or a TPM that was cleared. Enrol again',
    )
  }
}
