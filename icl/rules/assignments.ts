import type { Hash32 } from '../../lib/codecs.ts'
import type { SlotReason } from '../../lib/schemas/jobs.ts'
import {
  awaitsGrant,
  type Job,
  type JobLimits,
  recorded,
  type Slot,
  type Transition,
  withSlot,
} from './job.ts'

type SlotReasonCode = (typeof SlotReason)['options'][number]

const refused = (code: 'not-claimed' | 'wrong-role' | 'already-committed', detail: string) => ({
  refused: code,
  detail,
})

/** The node can read the keys now: its slot is offered. */
export function seeAccess(job: Job, slot: Slot, now: number, limits: JobLimits): Transition {
  if (slot.status !== 'awaiting-grant') return { job, effects: [] }
  const offered = withSlot(job, slot.fence, { status: 'offered', deadline: now + limits.offerMs })
  return { job: recorded(withoutGrantReason(offered), now, 'offered', { slot }), effects: [] }
}

/** The node can read the keys, but has no free place: from now on another may take the slot in its stead. */
export function findBusy(job: Job, slot: Slot, now: number, limits: JobLimits): Transition {
  if (slot.status !== 'awaiting-grant' || slot.deadline !== undefined) return { job, effects: [] }
  const waiting = withSlot(job, slot.fence, { deadline: now + limits.placeMs })
  return { job: recorded(withoutGrantReason(waiting), now, 'node-busy', { slot }), effects: [] }
}

/** The job, no longer waiting for a grant unless another of its slots does. */
const withoutGrantReason = (job: Job): Job =>
  job.reason === 'awaiting-grant' && !awaitsGrant(job) ? { ...job, reason: undefined } : job

/** True when the job says already what it waits for: with two such reasons, the first stays until it has passed. */
const waitsForOthers = ({ reason }: Job): boolean =>
  reason === 'awaiting-grant' || reason === 'not-enough-nodes'

/** The job waits for a grant that only the client can give. */
export function missAccess(job: Job, slot: Slot, now: number): Transition {
  if (slot.status !== 'awaiting-grant' || waitsForOthers(job)) return { job, effects: [] }
  const waiting: Job = { ...job, reason: 'awaiting-grant' }
  return { job: recorded(waiting, now, 'awaiting-grant', { slot }), effects: [] }
}

/** The node takes the slot: a lease until the claim deadline. Claiming again changes nothing. */
export function claim(job: Job, slot: Slot, now: number, limits: JobLimits): Transition {
  if (slot.status === 'claimed' || slot.status === 'committed') return { job, effects: [] }
  if (slot.status !== 'offered') return refused('not-claimed', `The assignment is ${slot.status}`)
  const deadline = Math.min(now + limits.leaseMs, job.deadline)
  const claimed = withSlot(job, slot.fence, { status: 'claimed', deadline })
  const phase = job.phase === 'open' ? 'running' : job.phase
  return { job: recorded({ ...claimed, phase }, now, 'claimed', { slot }), effects: [] }
}

/** A verifier binds itself to its evidence: its lease ends, and its time to reveal starts once there is a result. */
export function commit(
  job: Job,
  slot: Slot,
  commitment: Hash32,
  now: number,
  limits: JobLimits,
): Transition {
  if (slot.role !== 'verifier') return refused('wrong-role', 'Only a verifier commits')
  if (slot.commitment !== undefined) {
    return slot.commitment === commitment
      ? { job, effects: [] }
      : refused('already-committed', 'The assignment has another commitment')
  }
  if (slot.status !== 'claimed') return refused('not-claimed', `The assignment is ${slot.status}`)
  const committed = withSlot(job, slot.fence, {
    status: 'committed',
    commitment,
    deadline: job.result ? now + limits.revealMs : undefined,
  })
  return { job: recorded(committed, now, 'committed', { slot }), effects: [] }
}

/** The node gives the slot back; another is looked for at once. */
export function abort(job: Job, slot: Slot, reason: SlotReasonCode, now: number): Transition {
  if (slot.status === 'done') return { job, effects: [] }
  if (slot.status === 'committed' && job.result) return neverRevealed(job, slot, now)
  return { job: vacated(job, slot, 'aborted', reason, now), effects: [] }
}

/** A verifier that has seen the result and does not open its commitment: giving back is no way out of it. */
function neverRevealed(job: Job, slot: Slot, now: number): Transition {
  const { node, fence } = slot
  return {
    job: vacated(job, slot, 'lapsed', 'never-revealed', now),
    effects: [{ type: 'score-node', node, fence, code: 'never-revealed' }],
  }
}

/** The chain refuses to let the node read the keys: another node is looked for. */
export function refuseAccess(job: Job, slot: Slot, now: number): Transition {
  if (slot.status !== 'awaiting-grant') return { job, effects: [] }
  return { job: vacated(job, slot, 'aborted', 'grant-refused', now), effects: [] }
}

/** The node has left before it was offered anything: another is looked for, and it costs nobody anything. */
export function findGone(job: Job, slot: Slot, now: number): Transition {
  if (slot.status !== 'awaiting-grant') return { job, effects: [] }
  return { job: vacated(job, slot, 'aborted', 'node-left', now), effects: [] }
}

/** The job with a slot ended and its seat empty. */
export function vacated(
  job: Job,
  slot: Slot,
  status: 'aborted' | 'lapsed',
  reason: SlotReasonCode,
  now: number,
): Job {
  const ended = withSlot(job, slot.fence, { status, reason, endedAt: now, deadline: undefined })
  return recorded({ ...ended, fillAt: now }, now, status, { slot, detail: reason })
}
