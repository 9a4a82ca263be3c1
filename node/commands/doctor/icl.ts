import { elapsedSince } from '../../../lib/clock.ts'
import { withDeadline } from '../../../lib/deadline.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { failed, failedBy, ok, skipped } from '../../../lib/host/checks.ts'
import { explainError } from '../../../lib/host/explain-error.ts'
import { ask } from '../../../lib/outgoing.ts'
import type { Network } from '../../../lib/schemas/network.ts'
import { clockRemedy, compareClock } from '../../clock-watch.ts'
import type { Config } from '../../config.ts'
import type { CommandContext } from '../context.ts'
import { ownNetworkOf } from '../reach.ts'

const attemptMs = 10_000
const maxLivezBytes = 4_096

/** Checks that the ICL responds, belongs to the configured deployment, and accepts this node's attestation backend. */
export async function checkIcl(
  config: Config,
  context: CommandContext,
): Promise<{ readonly check: Check; readonly network?: Network }> {
  const { icl_endpoint, attestation_backend: backend } = config
  const name = 'icl'
  try {
    const network = await ownNetworkOf(config, context)
    const { version, chain_id, attestation_backends: accepted } = network
    if (!accepted.includes(backend)) {
      const detail = `${icl_endpoint} does not accept the attestation backend ${backend}`
      const remedy = `Set attestation_backend to one of: ${accepted.join(', ') || 'none is accepted now'}.`
      return { check: failed(name, detail, remedy), network }
    }
    return { check: ok(name, `${icl_endpoint}, version ${version}, chain ${chain_id}`), network }
  } catch (error) {
    return { check: failedBy(name, error) }
  }
}

/** Compares this machine's clock with the Date header of the ICL. */
export async function checkClock(
  { icl_endpoint }: Config,
  { fetch, clock }: CommandContext,
): Promise<Check> {
  const name = 'clock'
  const sentAt = clock.monotonic()
  const late = () => new Error('the ICL gave no answer')
  try {
    const { headers } = await withDeadline(clock, attemptMs, undefined, late, (signal) =>
      ask(fetch, new URL('/livez', icl_endpoint), { signal, maxBytes: maxLivezBytes }),
    )
    const compared = compareClock({ headers }, clock, elapsedSince(clock, sentAt))
    if (compared === undefined) return skipped(name, 'the ICL does not say what time it is')
    return compared.isRight ? ok(name, compared.text) : failed(name, compared.text, clockRemedy)
  } catch (error) {
    return skipped(name, `needs the ICL: ${explainError(error).message}`)
  }
}
