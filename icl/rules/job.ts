import type { Address, ComparatorId, Hash32, JobId } from '../../lib/codecs.ts'
import type { ProblemCode } from '../../lib/problem-codes.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import type {
  AssignmentReason,
  AssignmentStatus,
  DeliveryReason,
  JobEvent,
  JobPhase,
  JobReason,
  Parameters,
  Role,
} from '../../lib/schemas/jobs.ts'
import type { BlockId, PassReason } from '../../lib/schemas/list.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import type { Terms } from '../../lib/schemas/terms.ts'
import type { OpenedCheck } from '../../lib/teacher.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Effect, PendingEffect } from './effects.ts'
import type { Fault } from './fault.ts'
import type { PostedAnswer, PostedDelivery, PostedTurnAbort, PostedVerdict } from './posted.ts'
import type { Webhook } from './webhook.ts'

/** One attempt of one node at one seat of a job; times in milliseconds. */
export type Assignment = {
  /** Counts on through the batches. */
  readonly seat: number
  /** Counts attempts at this seat. */
  readonly attempt: number
  /** Of its node on the job's list. */
  readonly position: number
  readonly node: Address
  readonly fence: number
  readonly status: AssignmentStatus
  /** Of a committed one: the end of its time to reveal, once all of its batch have committed. */
  readonly deadline?: number | undefined
  readonly endedAt?: number | undefined
  readonly reason?: AssignmentReason | undefined
  readonly commitment?: Hash32
  readonly committedAt?: number
  /** The poll that claimed it, until its node has claimed it by a call of its own. */
  readonly poll?: string | undefined
  readonly answer?: PostedAnswer
  readonly revealedAt?: number
  /** What its node was scored for in it. */
  readonly scores?: readonly ReputationCode[]
}

/** The turn of one member of the agreement to deliver; times in milliseconds. */
export type Turn = {
  /** The deliverer's assignment. */
  readonly fence: number
  /** Of the delivery, then of the checks. */
  readonly deadline: number
  readonly delivery?: PostedDelivery
  readonly deliveredAt?: number
  readonly verdicts: readonly PostedVerdict[]
  /** The verdicts settle the delivery. Until the deadline its checkers open the numbers that they committed to. */
  readonly opening?: true
  readonly opened?: readonly OpenedCheck[]
  /** Assignments of checkers that will give no verdict. */
  readonly absent: readonly number[]
  /** Why it came to nothing, with the deliverer's word when it gave it back. */
  readonly failed?: {
    readonly reason: DeliveryReason
    readonly at: number
    readonly abort?: PostedTurnAbort
  }
}

/** The answers that match one another, by their assignments' fences, and how one of them is delivered. */
export type Agreement = {
  /** By batch and position. */
  readonly group: readonly number[]
  /** The same, in the order in which they deliver. */
  readonly order: readonly number[]
  /** The last is the current one. */
  readonly turns: readonly Turn[]
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

/** How far a job was when all of its quorum had committed: what anybody but its nodes is shown until it has settled. */
type FirstCommitted = {
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
  /** SHA-256 of the submission: the same job with another body is a conflict. */
  readonly submissionHash: Hash32
  readonly createdAt: number
  readonly deadline: number
  /** The end of the last outage that the deadlines were moved for. */
  readonly excusedUntil?: number

  readonly phase: JobPhase
  readonly reason?: JobReason | undefined
  readonly settledAt?: number
  /** Seats by batch: the quorum, then what was added when no agreement was found. */
  readonly batches: readonly number[]
  readonly nextFence: number
  readonly assignments: readonly Assignment[]
  /** The nodes that may take part, in the order in which they are seated. */
  readonly list: JobList
  /** Who was passed over, in time order. */
  readonly passed: readonly Passed[]
  readonly firstCommitted?: FirstCommitted
  readonly agreement?: Agreement
  /** When the client cancelled it, if answers were being revealed by then: it settles once these have decided. */
  readonly cancelledAt?: number
  /** What nodes provably did wrong. */
  readonly faults?: readonly Fault[] | undefined
  /** Of an accepted job: what its receipt says that nothing else here does. */
  readonly receipt?: Pick<Receipt, 'chain_id' | 'tally'>
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
  readonly deliverMs: number
  readonly checkMs: number
  readonly refillMs: number
  /** How long a node without a free slot is waited for while another has one. */
  readonly slotWaitMs: number
  readonly maxAttempts: number
  /** Jobs that one client may have at once. */
  readonly maxJobsPerClient: number
}

export const defaultJobLimits: JobLimits = {
  offerMs: 20_000,
  leaseMs: 120_000,
  revealMs: 30_000,
  deliverMs: 45_000,
  checkMs: 45_000,
  refillMs: 1_000,
  slotWaitMs: 20_000,
  maxAttempts: 3,
  maxJobsPerClient: 8,
}

/** A job as it is now, and what the world must do about it. */
export type Change = { readonly job: Job; readonly effects: readonly Effect[] }

/** What comes of a command: a change, or why not; what a refused command shows of its sender may have to be noted all the same. */
export type Transition =
  | Change
  | { readonly refused: ProblemCode; readonly detail: string; readonly noted?: Change | undefined }

export const isSettled = (phase: JobPhase): boolean =>
  phase === 'accepted' || phase === 'disputed' || phase === 'expired' || phase === 'cancelled'

/**
 * True once a job's outputs and evidence may be shown to its client and to others: until then a node that has not committed
 * could copy them, and it may be the client's own.
 */
export const mayShowAnswers = ({ phase }: Pick<Job, 'phase'>): boolean => isSettled(phase)

/** Statuses in which an assignment still holds its seat. */
export const isHeld = (status: AssignmentStatus): boolean =>
  status !== 'aborted' && status !== 'lapsed'

/** True while the time of a node to open its commitment runs. */
export const isRevealing = ({ status, deadline }: Assignment): boolean =>
  status === 'committed' && deadline !== undefined

/** Statuses in which an assignment occupies one of its node's slots; one that waits for a grant costs the node nothing yet. */
export const occupiesSlot = (status: AssignmentStatus): boolean =>
  status === 'offered' || status === 'claimed'

/** What an assignment's node is in the job: it delivers the answer, or, before it is known who does, has the first seat. */
export function roleOf(job: Job, { fence, seat }: Assignment): Role {
  const deliverer = job.agreement?.turns.at(-1)?.fence
  const leads = deliverer === undefined ? seat === 0 : deliverer === fence
  return leads ? 'leader' : 'verifier'
}

/** The newest assignment of a node in a job. */
export const assignmentOf = (job: Job, node: Address): Assignment | undefined =>
  job.assignments.findLast((assignment) => assignment.node === node)

/** A node's assignment of a fence; throws when there is none. */
export function assignmentFor(job: Job, node: Address, fence: number): Assignment {
  const found = job.assignments.find((own) => own.node === node && own.fence === fence)
  if (!found) throw new TypeError(`${node} has no assignment ${fence}`)
  return found
}

/** The job with one assignment changed. */
export const withAssignment = (job: Job, fence: number, change: Partial<Assignment>): Job => ({
  ...job,
  assignments: job.assignments.map((assignment) =>
    assignment.fence === fence ? { ...assignment, ...change } : assignment,
  ),
})

const maxEvents = 200
/** With the first of these a running job's events stop being shown: if later ones were, a reader that resumes would miss it. */
const heldEvents: ReadonlySet<string> = new Set(['committed'])

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
      role: roleOf(job, about.assignment),
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
