/*
 * Problem: an answer may take seconds or minutes, and a lease that is too short wastes an inference that its node has paid for.
 *
 * Idea: a lease is in proportion to the longest answer that the job allows and to the speed that the node measured. Seats are not filled
 * once an answer would come too late for its reveal, delivery and check.
 *
 * Invariants: a lease ends in time for these steps. A node that names a wrong speed holds its seat for `longestLeaseMs` at most, and
 * that only when long answers are allowed.
 */
import { type Assignment, type Job, type JobLimits, type Moment, maxOutputTokensOf } from './job.ts'
import { isWeighed } from './weighed.ts'

/** Of a node that has not measured its speed: slower than most hosted models, and about a small one on a CPU. */
const usualMsPerToken = 60
/** The slowest speed that makes a lease longer: a false one must not use up the job's time. */
const slowestMsPerToken = 4 * usualMsPerToken
/** To decrypt the prompt, to wait in the provider's queue and to read a long prompt. */
const besidesTokensMs = 60_000

/** How long an answer may still take: as long as the later steps have their time, or late in a job half of what is left. */
function roomMs(job: Job, { now, limits }: Moment): number {
  const { revealMs, deliverMs, checkMs, weighMs } = limits
  const left = job.deadline - now
  const deliveryMs = deliverMs + checkMs
  const weighingMs = Math.max(revealMs + weighMs, deliveryMs) + revealMs
  const laterMs = isWeighed(job) ? weighingMs : deliveryMs
  return Math.max(left - revealMs - laterMs, left / 2)
}

/** The end of a lease that begins now, for a node that takes so long for an output token. */
export function leaseEnd(job: Job, msPerToken: number | undefined, moment: Moment): number {
  const { leaseMs, longestLeaseMs } = moment.limits
  const tokensMs =
    maxOutputTokensOf(job) * Math.min(msPerToken ?? usualMsPerToken, slowestMsPerToken)
  const ms = Math.min(Math.max(leaseMs, besidesTokensMs + 2 * tokensMs), longestLeaseMs)
  return moment.now + Math.floor(Math.min(ms, roomMs(job, moment)))
}

/** True once another node's answer could not come in time, so that it must not be paid for. */
export const isTooLate = (job: Job, moment: Moment): boolean =>
  roomMs(job, moment) < neededMs(job, moment.limits)

/**
 * How long an answer of this job takes: as long as the fastest so far. Without one, as long as its tokens at the fastest speed named, at
 * most the shortest lease because few answers are as long as allowed, and half of that without a speed, but longer than those tries that
 * were too slow. In any case at least an eighth of that lease: a node that is seated later would pay for an answer that comes too late,
 * and be scored for it.
 */
function neededMs(job: Job, { leaseMs }: JobLimits): number {
  const { assignments } = job
  const leastMs = leaseMs / 8
  const took = assignments.flatMap((one) => timeOf(one, one.committedAt))
  if (took.length > 0) return Math.max(leastMs, Math.min(...took))
  const speeds = assignments.flatMap(({ msPerToken }) => msPerToken ?? [])
  const [speed, mostMs] =
    speeds.length === 0 ? [usualMsPerToken, leaseMs / 2] : [Math.min(...speeds), leaseMs]
  const tokensMs = maxOutputTokensOf(job) * speed
  const tooSlow = assignments.flatMap((one) => (isTooSlow(one) ? timeOf(one, one.endedAt) : []))
  return Math.max(leastMs, Math.min(tokensMs, mostMs), ...tooSlow)
}

/** True for an assignment whose node gave no answer in its time. */
export const isTooSlow = ({ reason }: Assignment): boolean =>
  reason === 'provider-silent' || reason === 'deadline-too-close'

const timeOf = ({ claimedAt }: Assignment, until: number | undefined): readonly number[] =>
  claimedAt === undefined || until === undefined ? [] : [until - claimedAt]
