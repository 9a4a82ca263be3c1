import type { Address } from '../../lib/codecs.ts'
import { faultEvidenceHash } from '../../lib/fault.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { faultEvidenceOf, faultIdIn } from '../operations/view-fault.ts'
import type { Effect } from '../rules/effects.ts'
import type { ChainSlash, Fault, Slash } from '../rules/fault.ts'
import { faultOf, withFaultChanged } from '../rules/faults.ts'
import { type Job, recorded } from '../rules/job.ts'
import { type Delivery, failed } from './finish-effect.ts'
import { scoreNode } from './score-node.ts'

const longestRetryMs = 600_000
const confirmingMs = 2_000
/** How often to see whether the operator has answered, or the arbiter has decided. */
const lookMs = 3_600_000
const chainClockMs = 60_000
const weiPerGwei = 1_000_000_000n

type SlashEffect = Extract<Effect, { type: 'slash-node' }>

/** Accuses a node of a fault on chain, once, and takes its stake when its time to answer has passed and the arbiter has not dismissed it. */
export async function slashNode(
  deps: Dependencies,
  job: Job,
  effect: SlashEffect,
  attempts: number,
  term: AbortSignal,
): Promise<Delivery> {
  const fault = faultOf(job, effect.kind, effect.fence)
  if (!fault) return { done: true }
  const slash = fault.slash ?? (await newSlash(deps, job, fault))
  if (!slash || slash.state === 'off') {
    return { done: true, change: (now) => withFaultChanged(now, fault, { slash }) }
  }
  try {
    return await pursue(deps, job, fault, slash, term)
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    const failure = failed(error)
    deps.log.warn('effect failed', { jobId: job.id, effect: effect.type, error: failure.error })
    if (error.code === 'stake-gone' && isPastRetention(deps, job)) return { done: true }
    return { ...failure, retryMs: Math.min(1_000 * 2 ** attempts, longestRetryMs) }
  }
}

/** A job is kept no longer for the sake of a stake that is not there. */
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
  job: Job,
  fault: Fault,
  slash: Slash,
  term: AbortSignal,
): Promise<Delivery> {
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
  return deliveryOf(deps, job, fault, { ...slash, proposedTx }, found)
}

async function deliveryOf(
  deps: Dependencies,
  job: Job,
  fault: Fault,
  slash: Slash,
  found: ChainSlash,
): Promise<Delivery> {
  const now = deps.clock.now()
  switch (found.state) {
    case 'absent':
    case 'shallow':
      return { done: false, retryMs: confirmingMs, change: (job) => noted(job, fault, slash, now) }
    case 'proposed': {
      const { executableAt, amountWei, answerHash } = found
      const open = { ...slash, executableAt, amountWei, answerHash }
      const leftMs = executableAt * 1000 - now
      return {
        done: false,
        retryMs: leftMs > 0 ? Math.min(leftMs, lookMs) : chainClockMs,
        change: (job) => noted(job, fault, open, now),
      }
    }
    case 'executed': {
      const amountGwei = Number(found.takenWei / weiPerGwei)
      await score(deps, job, fault, { code: 'slashed', amountGwei })
      const { tx: executedTx, takenWei } = found
      const settled = { ...slash, state: 'executed', executedTx, takenWei } as const
      return { done: true, change: (job) => settledSlash(job, fault, settled, now) }
    }
    case 'cancelled': {
      await score(deps, job, fault, { code: 'slash-dismissed' })
      const settled = { ...slash, state: 'cancelled', executedTx: found.tx } as const
      return { done: true, change: (job) => settledSlash(job, fault, settled, now) }
    }
  }
}

const score = (
  deps: Dependencies,
  job: Job,
  { node, fence }: { readonly node: Address; readonly fence: number },
  what: { readonly code: 'slashed' | 'slash-dismissed'; readonly amountGwei?: number },
): Promise<void> => scoreNode(deps, job, { node, fence, ...what })

/** The job as it stands with an open slash, and with an event for each thing that is new. */
function noted(job: Job, fault: Fault, slash: Slash, now: number): Job {
  const before = faultOf(job, fault.kind, fault.fence)?.slash
  const changed = withFaultChanged(job, fault, { slash })
  const about = { assignment: assignmentOfFault(job, fault) }
  const proposed =
    slash.executableAt !== undefined && before?.executableAt === undefined
      ? recorded(changed, now, 'slash-proposed', { ...about, detail: slash.proposedTx })
      : changed
  return slash.answerHash !== undefined && before?.answerHash === undefined
    ? recorded(proposed, now, 'slash-answered', { ...about, detail: slash.answerHash })
    : proposed
}

/** The job with a slash settled; the proof has served its purpose, and is kept no longer than that. */
const settledSlash = (job: Job, fault: Fault, slash: Slash, now: number): Job =>
  recorded(
    withFaultChanged(job, fault, { slash, statements: undefined }),
    now,
    `slash-${slash.state}`,
    { assignment: assignmentOfFault(job, fault), detail: slash.executedTx },
  )

const assignmentOfFault = ({ assignments }: Job, { fence }: Fault) =>
  assignments.find((assignment) => assignment.fence === fence)
