import { isRefuted } from '../../lib/fault.ts'
import { vacated } from './assignments.ts'
import { withFault } from './faults.ts'
import {
  currentSlots,
  type Job,
  type JobLimits,
  recorded,
  resultOfRound,
  type SignedResult,
  type SignedVerdict,
  type Slot,
  type Transition,
  withSlot,
} from './job.ts'
import { tally } from './settle.ts'

/** The leader's result: verifiers that have committed may see it now, and their time to reveal starts. */
export function postResult(
  job: Job,
  slot: Slot,
  result: SignedResult,
  now: number,
  limits: JobLimits,
): Transition {
  if (slot.role !== 'leader')
    return { refused: 'wrong-role', detail: 'Only a leader posts results' }
  if (slot.status === 'done') {
    const posted = resultOfRound(job, slot.round)
    if (!posted || posted.hash === result.hash) return { job, effects: [] }
    return alreadyAnswered(job, slot, [posted, result], now)
  }
  if (slot.status !== 'claimed') {
    return { refused: 'not-claimed', detail: `The assignment is ${slot.status}` }
  }
  const posted = recorded(
    { ...withSlot(job, slot.fence, { status: 'done' }), phase: 'verifying', result },
    now,
    'result-posted',
    { slot },
  )
  // A verifier that joined after the leader claimed is not among the readers that the leader named.
  const effects = currentSlots(posted).flatMap(({ role, node, fence }) =>
    role === 'verifier' ? [{ type: 'ensure-access' as const, node, fence }] : [],
  )
  const slots = posted.slots.map((other) =>
    other.status === 'committed' ? { ...other, deadline: now + limits.revealMs } : other,
  )
  return { job: { ...posted, slots }, effects }
}

/** A verifier's verdict: it must open the commitment, speak of this very result, and follow from its evidence. */
export function postVerdict(
  job: Job,
  slot: Slot,
  verdict: SignedVerdict,
  commitment: string,
  now: number,
  limits: JobLimits,
): Transition {
  if (slot.role !== 'verifier') return { refused: 'wrong-role', detail: 'Only a verifier votes' }
  if (slot.status === 'done') {
    if (!slot.verdict || slot.verdict.hash === verdict.hash) return { job, effects: [] }
    return alreadyAnswered(job, slot, [slot.verdict, verdict], now)
  }
  if (slot.status !== 'committed') {
    return { refused: 'not-committed', detail: `The assignment is ${slot.status}` }
  }
  if (!job.result) return { refused: 'no-result-yet', detail: 'There is nothing to compare with' }
  if (commitment !== slot.commitment) {
    return { refused: 'commitment-mismatch', detail: 'Evidence and salt make another commitment' }
  }
  if (verdict.body.leader_statement !== job.result.hash) {
    return { refused: 'statement-mismatch', detail: 'Another leader statement was compared with' }
  }
  if (isRefuted(job.result.body, verdict.body)) {
    const ended = vacated(job, slot, 'aborted', 'verdict-refuted', now)
    const proof = [job.result, verdict]
    return withFault(ended, slot, 'verdict-refuted', proof, now) ?? { job: ended, effects: [] }
  }
  const done = withSlot(job, slot.fence, { status: 'done', verdict, deadline: undefined })
  const detail = verdict.body.reason ?? verdict.body.verdict
  return tally(
    recorded(done, now, `verdict-${verdict.body.verdict}`, { slot, detail }),
    now,
    limits,
  )
}

/** Another signed answer for the same fence: it changes nothing, and proves a fault of its node. */
const alreadyAnswered = (
  job: Job,
  slot: Slot,
  statements: readonly (SignedResult | SignedVerdict)[],
  now: number,
): Transition => ({
  refused: 'already-answered',
  detail: `The ${slot.role} gave another answer for this fence before`,
  noted: withFault(job, slot, 'equivocated', statements, now),
})
