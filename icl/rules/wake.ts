import type { Address } from '../../lib/codecs.ts'
import { vacated } from './assignments.ts'
import { type Candidate, type DrawSeed, drawNodes } from './draw.ts'
import type { Effect } from './effects.ts'
import {
  currentSlots,
  emptySeats,
  isSettled,
  type Job,
  type JobLimits,
  recorded,
  type Slot,
  slotAt,
  type Transition,
} from './job.ts'
import { settle } from './settle.ts'

/** Looks at a job whose time has come: ends what is overdue and fills empty seats from the pool. */
export function wake(
  job: Job,
  fill: { readonly pool: readonly Candidate[]; readonly seed: DrawSeed } | undefined,
  now: number,
  limits: JobLimits,
): Transition {
  if (now >= job.deadline) return settle(job, 'expired', job.reason ?? 'deadline-passed', now)
  const lapsed = lapse(job, now)
  if (emptySeats(lapsed.job).length === 0 || !fill) return lapsed
  const filled = fillSeats(lapsed.job, fill.pool, fill.seed, now, limits)
  if ('refused' in filled) return filled
  return { job: filled.job, effects: [...lapsed.effects, ...filled.effects] }
}

/** True when the next wake needs the pool: a seat is empty or will be, and it is time to fill it. */
export const needsPool = (job: Job, now: number): boolean =>
  !isSettled(job.phase) &&
  now < job.deadline &&
  ((job.fillAt !== undefined && job.fillAt <= now) || lapse(job, now).effects.length > 0)

/** Ends the slots whose deadline has passed. */
function lapse(job: Job, now: number): { job: Job; effects: readonly Effect[] } {
  const overdue = currentSlots(job).filter(
    ({ status, deadline }) => status !== 'done' && deadline !== undefined && deadline <= now,
  )
  const effects: Effect[] = []
  let next = job
  for (const slot of overdue) {
    const code = lapseCode(slot)
    next = vacated(next, slot, 'lapsed', code, now)
    effects.push({ type: 'score-node', node: slot.node, fence: slot.fence, code })
  }
  return { job: next, effects }
}

function lapseCode({ status }: Slot): 'offer-lapsed' | 'lease-lapsed' | 'never-revealed' {
  if (status === 'offered') return 'offer-lapsed'
  return status === 'committed' ? 'never-revealed' : 'lease-lapsed'
}

function fillSeats(
  job: Job,
  pool: readonly Candidate[],
  seed: DrawSeed,
  now: number,
  limits: JobLimits,
): Transition {
  const seats = emptySeats(job)
  if (seats.some((seat) => (slotAt(job, seat)?.attempt ?? 0) >= limits.maxAttempts)) {
    return settle(job, 'expired', 'attempts-exhausted', now)
  }
  const took = new Set<Address>(job.slots.map(({ node }) => node))
  const fresh = pool.filter(({ address }) => address !== job.client && !took.has(address))
  if (startsOver(job) && fresh.length < seats.length) {
    return settle(job, 'rejected', 'not-enough-nodes', now)
  }
  if (fresh.length === 0 && seats.every((seat) => isTieBreak(job, seat))) {
    return settle(job, 'disputed', 'quorum-disagreed', now)
  }
  const draw = drawNodes(seed, fresh, seats.length)
  let next: Job = draw.chosen.length > 0 ? { ...job, draws: [...job.draws, draw] } : job
  const effects: Effect[] = []
  for (const [index, seat] of seats.entries()) {
    const returning = fresh.length === 0 ? returningNode(job, seat, pool, now) : undefined
    const node = draw.chosen[index] ?? returning
    if (node === undefined) continue
    const seated = seatNode(next, seat, node, now)
    next = seated.job
    effects.push(...seated.effects)
  }
  return { job: afterFilling(next, now, limits), effects }
}

function afterFilling(job: Job, now: number, limits: JobLimits): Job {
  if (emptySeats(job).length === 0) {
    return { ...job, reason: job.reason === 'not-enough-nodes' ? undefined : job.reason }
  }
  const waiting: Job = { ...job, fillAt: now + limits.refillMs, reason: 'not-enough-nodes' }
  return job.reason === 'not-enough-nodes' ? waiting : recorded(waiting, now, 'not-enough-nodes')
}

/** True when a rejection calls for a whole new quorum, of which nobody is seated yet. */
const startsOver = (job: Job): boolean =>
  job.round > 0 && job.slots.every(({ round }) => round < job.round)

/** True for a seat that was added because the verdicts did not decide. */
const isTieBreak = (job: Job, seat: number): boolean => seat > job.verifierCount

/** Reasons for which the same node may try again when there is no other. */
const passingReasons: ReadonlySet<string> = new Set([
  'prompt-unavailable',
  'fhe-decrypt-denied',
  'coprocessor-unavailable',
  'chain-rate-limited',
  'provider-rate-limited',
  'provider-unavailable',
  'output-upload-failed',
  'node-stopping',
  'offer-lapsed',
])

const returnDelayMs = 2_000

function returningNode(
  job: Job,
  seat: number,
  pool: readonly Candidate[],
  now: number,
): Address | undefined {
  const last = slotAt(job, seat)
  if (last?.reason === undefined || !passingReasons.has(last.reason)) return undefined
  if (now < (last.endedAt ?? now) + returnDelayMs * last.attempt) return undefined
  return pool.find(({ address, busy }) => address === last.node && !busy)?.address
}

/** Puts a node on a seat; it is offered the work once the chain shows that it can read the prompt key. */
export function seatNode(
  job: Job,
  seat: number,
  node: Address,
  now: number,
): { readonly job: Job; readonly effects: readonly Effect[] } {
  const slot: Slot = {
    seat,
    round: job.round,
    attempt: (slotAt(job, seat)?.attempt ?? 0) + 1,
    role: seat === 0 ? 'leader' : 'verifier',
    node,
    fence: job.nextFence,
    status: 'awaiting-grant',
  }
  const seated = { ...job, slots: [...job.slots, slot], nextFence: job.nextFence + 1 }
  return {
    job: recorded(seated, now, 'chosen', { slot }),
    effects: [{ type: 'ensure-access', node, fence: slot.fence }],
  }
}
