import { errorMessage } from '../../lib/error-message.ts'
import { faultEvidenceHash } from '../../lib/fault.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { faultEvidenceOf, faultIdIn } from '../operations/view-fault.ts'
import type { EffectNews } from '../rules/commands.ts'
import type { Effect } from '../rules/effects.ts'
import type { Fault, Slash } from '../rules/fault.ts'
import { faultOf } from '../rules/faults.ts'
import type { Job } from '../rules/job.ts'

const longestRetryMs = 600_000
const done: EffectNews = { type: 'effect-tried', tried: { done: true } }

/** Accuses a node of a fault on chain once. Takes its stake when its time to answer has passed, unless the arbiter dismissed the fault. */
export async function slashNode(
  deps: Dependencies,
  job: Job,
  effect: Extract<Effect, { type: 'slash-node' }>,
  attempts: number,
  term: AbortSignal,
): Promise<EffectNews> {
  const fault = faultOf(job, effect.kind, effect.fence)
  if (!fault) return done
  const slash = fault.slash ?? (await newSlash(deps, job, fault))
  if (!slash) return done
  if (slash.state === 'off') return { type: 'slash-seen', slash, found: { state: 'off' } }
  try {
    return await pursue(deps, fault, slash, term)
  } catch (caught) {
    if (!(caught instanceof SvcError)) throw caught
    const error = errorMessage(caught)
    deps.log.warn('effect failed', { jobId: job.id, effect: effect.type, error })
    if (caught.code === 'stake-gone' && isPastRetention(deps, job)) return done
    const retryMs = Math.min(1_000 * 2 ** attempts, longestRetryMs)
    return { type: 'effect-tried', tried: { done: false, retryMs, error } }
  }
}

/** True when a job need not be kept any longer for a stake that is not there. */
const isPastRetention = ({ clock, network }: Dependencies, { settledAt }: Job): boolean =>
  settledAt !== undefined && clock.now() >= settledAt + network.blob_retention_days * dayMs

async function newSlash(deps: Dependencies, job: Job, fault: Fault): Promise<Slash | undefined> {
  const evidence = faultEvidenceOf(deps, job, fault)
  if (!evidence) return undefined
  const amountWei = deps.network.slash_wei ?? 0n
  return {
    state: amountWei > 0n ? 'proposed' : 'off',
    faultId: faultIdIn(job, fault),
    evidenceHash: await faultEvidenceHash(evidence),
    amountWei,
  }
}

async function pursue(
  deps: Dependencies,
  fault: Fault,
  slash: Slash,
  term: AbortSignal,
): Promise<EffectNews> {
  const { chain, clock } = deps
  const { faultId, evidenceHash, amountWei } = slash
  let found = await chain.slashOf(faultId)
  let { proposedTx } = slash
  if (found.state === 'absent') {
    const proposal = { faultId, operator: fault.node, amountWei, evidenceHash }
    proposedTx = (await chain.proposeSlash(proposal, term)) ?? proposedTx
    found = await chain.slashOf(faultId)
  }
  if (found.state === 'proposed' && found.executableAt * 1000 <= clock.now()) {
    await chain.executeSlash(faultId, term)
    found = await chain.slashOf(faultId)
  }
  return { type: 'slash-seen', slash: { ...slash, proposedTx }, found }
}
