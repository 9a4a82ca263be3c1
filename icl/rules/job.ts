import type { Address, ComparatorId, Hash32, JobId } from '../../lib/codecs.ts'
import type { ProblemCode } from '../../lib/problem-codes.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import type {
  AssignmentReason,
  AssignmentStatus,
  JobEvent,
  JobPhase,
  JobReason,
  Parameters,
  Role,
} from '../../lib/schemas/jobs.ts'
import type { BlockId, PassReason } from '../../lib/schemas/list.ts'
import type {
  LeaderStatement,
  Receipt,
  StatementSession,
  VerifierStatement,
} from '../../lib/schemas/receipt.ts'
import type { Terms } from '../../lib/schemas/terms.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Effect, PendingEffect } from './effects.ts'
import type { Fault } from './faults.ts'
import type { Webhook } from './webhook.ts'

/** A leader's statement as it was posted. */
export type SignedResult = {
  readonly body: LeaderStatement
  readonly hash: Hash32
  readonly signature: string
  readonly session: StatementSession
}

/** A verifier's statement as it was posted. */
export type SignedVerdict = {
  readonly body: VerifierStatement
  readonly hash: Hash32
  readonly signature: string
  readonly session: StatementSession
}

/** One attempt of one node at one seat of a job; times in milliseconds. */
export type Assignment = {
  /** 0 for the leader, 1 and up for verifiers. */
  readonly seat: number
  /** Counts whole quorums: a rejection starts the next. */
  readonly round: number
  /** Counts attempts at this seat in this round. */
  readonly attempt: number
  readonly role: Role
  /** Of its node on the job's list. */
  readonly position: number
  readonly node: Address
  readonly fence: number
  readonly status: AssignmentStatus
  readonly deadline?: number | undefined
  readonly endedAt?: number
  readonly reason?: AssignmentReason
  readonly commitment?: Hash32
  readonly verdict?: SignedVerdict
  /** What its node was scored for in it. */
  readonly scores?: readonly ReputationCode[]
}

/** A round that was rejected, kept for the job's record; its verdicts are in the assignments. */
export type PastRound = {
  readonly round: number
  readonly result: SignedResult
  /** Milliseconds. */
  readonly endedAt: number
}

/** What the client committed to on chain. */
export type JobList = {
  readonly terms: Terms
  readonly block: BlockId
  readonly members: readonly Address[]
  /** May activate members until `until`, in Unix seconds by the chain's clock. */
  readonly activator: Address
  readonly until: number
  /** As it has to stand on chain. */
  readonly commitment: Hash32
}

/** A member of the list that another was seated before; `at` in milliseconds. */
export type Passed = { readonly position: number; readonly reason: PassReason; readonly at: number }

/** How far a job was when its first result came. */
type FirstResult = {
  /** Each later assignment has this fence or a higher one. */
  readonly nextFence: number
  readonly passed: readonly Passed[]
}

/** Everything the ICL knows of a job; times in milliseconds. */
export type Job = {
  readonly id: JobId
  readonly client: Address
  readonly clientNonce: bigint
  readonly modelId: string
  readonly minTier: number
  readonly promptCid: string
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly parameters: Parameters
  readonly comparator: ComparatorId
  readonly minMatches: number
  readonly verifierCount: number
  /** SHA-256 of the submission: the same job with another body is a conflict. */
  readonly submissionHash: Hash32
  readonly createdAt: number
  readonly deadline: number
  /** The end of the last outage that the deadlines were moved for. */
  readonly excusedUntil?: number

  readonly phase: JobPhase
  readonly reason?: JobReason | undefined
  readonly settledAt?: number
  readonly round: number
  /** Seats of the current round; grows when a tie needs one more verifier. */
  readonly seats: number
  readonly nextFence: number
  readonly assignments: readonly Assignment[]
  /** The nodes that may take part, in the order in which they are seated. */
  readonly list: JobList
  /** Who was passed over, in time order. */
  readonly passed: readonly Passed[]
  /** Left out until the first result has come. */
  readonly firstResult?: FirstResult
  /** The current round's result. */
  readonly result?: SignedResult | undefined
  /** The rounds before the current one, oldest first; the oldest go when there are more than 20. */
  readonly rounds?: readonly PastRound[]
  /** What nodes provably did wrong. */
  readonly faults?: readonly Fault[] | undefined
  readonly receipt?: Receipt
  readonly receiptHash?: Hash32
  readonly commitTx?: Hash32
  /** The transaction that was sent last, deep enough or not. */
  readonly commitSentTx?: Hash32 | undefined
  readonly commitError?: string | undefined
  /** Where its client wants to be told that it has settled. */
  readonly webhook?: Webhook

  readonly events: readonly JobEvent[]
  /** The number (`seq`) of the first event that is shown only once the job has settled. */
  readonly heldFrom?: number
  /** What the outside world must still do; each is safe to repeat. */
  readonly outbox: readonly PendingEffect[]
  readonly nextEffect: number
  /** When to try next to fill empty seats; undefined while none is empty. */
  readonly fillAt?: number | undefined
  /** When the job must be looked at again; undefined once settled. */
  readonly tickAt?: number | undefined
}

/** How long a job may take in all, in milliseconds. */
export const jobMs = 600_000

/** How long each step may take, in milliseconds, and how often it may fail. */
export type JobLimits = {
  readonly offerMs: number
  readonly leaseMs: number
  readonly revealMs: number
  readonly refillMs: number
  /** How long a node without a free slot is waited for while another has one. */
  readonly slotWaitMs: number
  readonly maxAttempts: number
  readonly maxVerifiers: number
  /** Jobs that one client may have at once. */
  readonly maxJobsPerClient: number
}

export const defaultJobLimits: JobLimits = {
  offerMs: 20_000,
  leaseMs: 120_000,
  revealMs: 60_000,
  refillMs: 1_000,
  slotWaitMs: 20_000,
  maxAttempts: 3,
  maxVerifiers: 5,
  maxJobsPerClient: 8,
}

/** A job as it is now, and what the world must do about it. */
export type Change = { readonly job: Job; readonly effects: readonly Effect[] }

/** What comes of a command: a change, or why not; what a refused command shows of its sender may have to be noted all the same. */
export type Transition =
  | Change
  | { readonly refused: ProblemCode; readonly detail: string; readonly noted?: Change | undefined }

export const isSettled = (phase: JobPhase): boolean =>
  phase === 'accepted' ||
  phase === 'rejected' ||
  phase === 'disputed' ||
  phase === 'expired' ||
  phase === 'cancelled'

/**
 * True once a job's outputs and evidence may be shown to its client and to others: until then a verifier that has not committed
 * could copy them, and it may be the client's own node.
 */
export const mayShowAnswers = ({ phase }: Pick<Job, 'phase'>): boolean => isSettled(phase)

/** Statuses in which an assignment still holds its seat. */
export const isHeld = (status: AssignmentStatus): boolean =>
  status !== 'aborted' && status !== 'lapsed'

/** Statuses in which an assignment occupies one of its node's slots; one that waits for a grant costs the node nothing yet. */
export const occupiesSlot = (status: AssignmentStatus): boolean =>
  status === 'offered' || status === 'claimed'

/** The latest assignment of a seat in the current round. */
export const assignmentAt = (job: Job, seat: number): Assignment | undefined =>
  job.assignments.findLast(
    (assignment) => assignment.round === job.round && assignment.seat === seat,
  )

/** Reasons that say nothing about the job: trying another node then is not one of a seat's attempts. */
const uncountedReasons: ReadonlySet<string> = new Set(['node-busy', 'node-left'])

/** True while one of the job's assignments waits until its node may read the keys. */
export const awaitsGrant = (job: Job): boolean =>
  currentAssignments(job).some(
    // One whose node may read them, and is only full, has a deadline.
    ({ status, deadline }) => status === 'awaiting-grant' && deadline === undefined,
  )

/** How often a seat of the current round was tried. */
export const attemptsAt = (job: Job, seat: number): number =>
  job.assignments.filter(
    (assignment) =>
      assignment.round === job.round &&
      assignment.seat === seat &&
      !uncountedReasons.has(assignment.reason ?? ''),
  ).length

/** The latest assignment of every seat of the current round that was ever filled. */
export function currentAssignments(job: Job): readonly Assignment[] {
  return seatsOf(job).flatMap((seat) => assignmentAt(job, seat) ?? [])
}

/** The seats of the current round that no assignment holds. */
export const emptySeats = (job: Job): readonly number[] =>
  seatsOf(job).filter((seat) => !isHeld(assignmentAt(job, seat)?.status ?? 'lapsed'))

const seatsOf = (job: Job): readonly number[] =>
  Array.from({ length: job.seats }, (_, seat) => seat)

/** The newest assignment of a node in a job. */
export const assignmentOf = (job: Job, node: Address): Assignment | undefined =>
  job.assignments.findLast((assignment) => assignment.node === node)

/** The result that an assignment's round has or had; undefined when it is not known any more. */
export const resultOfRound = (job: Job, round: number): SignedResult | undefined =>
  round === job.round ? job.result : job.rounds?.find((past) => past.round === round)?.result

/** The job with one assignment changed. */
export const withAssignment = (job: Job, fence: number, change: Partial<Assignment>): Job => ({
  ...job,
  assignments: job.assignments.map((assignment) =>
    assignment.fence === fence ? { ...assignment, ...change } : assignment,
  ),
})

const maxEvents = 200
/** With the first of these a running job's events stop being shown: if later ones were, a reader that resumes would miss it. */
const heldEvents: ReadonlySet<string> = new Set(['committed', 'result-posted'])

/** The job with one more event in its history; the oldest go when there are too many. */
export function recorded(
  job: Job,
  now: number,
  type: string,
  about: { assignment?: Assignment | undefined; detail?: string | undefined } = {},
): Job {
  const seq = (job.events.at(-1)?.seq ?? 0) + 1
  const event: JobEvent = {
    seq,
    at: toSeconds(now),
    type,
    phase: job.phase,
    ...(about.assignment && {
      node: about.assignment.node,
      role: about.assignment.role,
      fence: about.assignment.fence,
    }),
    ...(about.detail !== undefined && { detail: about.detail }),
  }
  return {
    ...job,
    events: [...job.events, event].slice(-maxEvents),
    ...(job.heldFrom === undefined && heldEvents.has(type) && { heldFrom: seq }),
  }
}
