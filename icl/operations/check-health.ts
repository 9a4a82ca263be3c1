import { withDeadline } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Dependencies } from '../dependencies.ts'

const pingMs = 2_000

async function answers(deps: Dependencies, ping: () => Promise<void>): Promise<boolean> {
  try {
    await withDeadline(deps.clock, pingMs, undefined, () => new Error('timed out'), ping)
    return true
  } catch {
    // Not answering is the finding, not a failure of the check.
    return false
  }
}

/** How the ICL is (spec 2.1): `mongo_connected` says whether the configured durable store answers. */
export async function checkHealth(deps: Dependencies) {
  const [chain, store] = await Promise.all([
    answers(deps, () => deps.chain.ping()),
    deps.store.durable ? answers(deps, () => deps.store.ping()) : false,
  ])
  return { status: 'ok' as const, chain_connected: chain, mongo_connected: store }
}

/** Whether to send traffic here, and what is degraded. */
export async function checkReadiness(deps: Dependencies) {
  const [chain, store] = await Promise.all([
    answers(deps, () => deps.chain.ping()),
    answers(deps, () => deps.store.ping()),
  ])
  const reasons = [
    ...(chain ? [] : ['the chain does not answer: previews and submissions fail, commits wait']),
    ...(store ? [] : ['the store does not answer']),
    ...(deps.store.durable ? [] : ['the store is in memory: a restart forgets everything']),
  ]
  if (!store) throw new ProblemError('unavailable', reasons.join('; '))
  return { ready: true, reasons }
}
