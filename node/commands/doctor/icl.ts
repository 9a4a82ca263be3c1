import { z } from 'zod'
import { withDeadline } from '../../../lib/deadline.ts'
import type { Check } from '../../../lib/host/checks.ts'
import { failed, failedBy, ok, skipped } from '../../../lib/host/checks.ts'
import { explainError } from '../../../lib/host/explain-error.ts'
import { ask } from '../../../lib/outgoing.ts'
import type { Network } from '../../../lib/schemas/network.ts'
import type { Config } from '../../config.ts'
import type { CommandContext } from '../context.ts'
import { ownNetworkOf } from '../reach.ts'

const attemptMs = 10_000
const maxLivezBytes = 4_096
// The ICL accepts signed requests for 60 s.
const tolerableMs = 30_000

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
  const before = clock.now()
  const late = () => new Error('the ICL gave no answer')
  try {
    const { headers } = await withDeadline(clock, attemptMs, undefined, late, (signal) =>
      ask(fetch, new URL('/livez', icl_endpoint), { signal, maxBytes: maxLivezBytes }),
    )
    const roundTripMs = clock.now() - before
    const date = z.coerce.date().safeParse(headers.get('date') ?? '')
    if (!date.success) return skipped(name, 'the ICL does not say what time it is')
    // The header has a resolution of one second.
    const aheadMs = before + roundTripMs / 2 - (date.data.getTime() + 500)
    const seconds = Math.round(Math.abs(aheadMs) / 1000)
    const side = aheadMs > 0 ? 'ahead of' : 'behind'
    if (Math.abs(aheadMs) - roundTripMs / 2 <= tolerableMs) {
      return ok(name, seconds <= 1 ? "agrees with the ICL's" : `${seconds} s ${side} the ICL's`)
    }
    const remedy = 'Set the clock of this machine, for example with NTP (timedatectl set-ntp true).'
    return failed(name, `${seconds} s ${side} the ICL's`, remedy)
  } catch (error) {
    return skipped(name, `needs the ICL: ${explainError(error).message}`)
  }
}
