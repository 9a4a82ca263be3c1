import type { Address, ComparatorId, Hash32, JobId } from '../../lib/codecs.ts'
import type { ProblemCode } from '../../lib/problem-codes.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import {
  type AssignmentReason,
  type AssignmentStatus,
  type DeliveryReason,
  defaultMaxOutputTokens,
  type JobEvent,
  type JobPhase,
  type JobReason,
  type Parameters,
  type Role,
} from '../../lib/schemas/jobs.ts'
import type { BlockId, PassReason } from '../../lib/schemas/list.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import type { Terms } from '../../lib/schemas/terms.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Effect, PendingEffect } from './effects.ts'
import type { Fault } from './fault.ts'
import type {
  PostedAnswer,
  PostedDelivery,
  PostedNumbers,
  PostedTurnAbort,
  PostedVerdict,
} from './posted.ts'
import type { Webhook } from './webhook.ts'

/** One attempt of one node at one seat of a job; times in milliseconds. */
export type Assignment = {
  readonly seat: number
  /** 0 for the quorum. A seat that is filled once the nodes of a batch may know its commitments belongs to the next. */
  readonly batch: number
  /** The number of the attempt at this seat. */
  readonly attempt: number
  /** The position of its node on the job's list. */
  readonly position: number
  readonly node: Address
  readonly fence: number
  readonly status: AssignmentStatus
  /** The end of the current step. A committed assignment has one once all of its batch have committed: the end of its time to reveal. */
  readonly deadline?: number | undefined
  readonly endedAt?: number | undefined
  readonly reason?: AssignmentReason | undefined
  /** When a node that gave its seat back can have one again, by its own word. */
  readonly returnAt?: number | undefined
  readonly claimedAt?: number
  /** The speed of its node for the job's model, in milliseconds per output token, by the node's word. */
  readonly msPerToken?: number | undefined
  readonly commitment?: Hash32
  readonly committedAt?: number
  readonly answer?: PostedAnswer
  readonly revealedAt?: number
  /** What its node was scored for in this assignment. */
  readonly scores?: readonly ReputationCode[]
}

/** One member's turn to deliver; times in milliseconds. */
export type Turn = {
  /** The deliverer's assignment. */
  readonly fence: number
  /** Of the delivery, then of the checks. */
  readonly deadline: number
  readonly delivery?: PostedDelivery
  readonly deliveredAt?: number
  readonly verdicts: readonly PostedVerdict[]
  /** Verdicts that their nodes' evidence contradicts. They do not count. */
  readonly refuted?: readonly PostedVerdict[]
  /** The verdicts have settled the delivery, while the answers are still weighed. */
  readonly settled?: true
  /** The fences of checkers that will give no verdict. */
  readonly absent: readonly number[]
  /** Why the turn failed, with the deliverer's statement when it aborted. */
  readonly failed?: {
    readonly reason: DeliveryReason
    readonly at: number
    readonly abort?: PostedTurnAbort
  }
}

/** The answers that match one another, by their assignments' fences, and the turns to deliver one of them. */
export type Agreement = {
  /** By batch and position. */
  readonly group: readonly number[]
  /** The same fences, in the order of the turns. */
  readonly order: readonly number[]
  /** The last is the current one. */
  readonly turns: readonly Turn[]
}

/** How the answers of an agreement are weighed; times in milliseconds. */
export type Weighing = {
  readonly step: 'show' | 'weigh' | 'open' | 'over'
  /** Of the step. */
  readonly deadline: number
  /** The nodes that have shown their answers, by fence. One without a CID has lost its text. */
  readonly shown: readonly { readonly fence: number; readonly cid: string | undefined }[]
  /** The nodes' commitments to their numbers. One without has no numbers. */
  readonly weighed: readonly { readonly fence: number; readonly commitment: Hash32 | undefined }[]
  readonly opened: readonly PostedNumbers[]
}

/** The list that the client committed to on chain. */
export type JobList = {
  readonly terms: Terms
  readonly block: BlockId
  readonly members: readonly Address[]
  /** The account that may activate members until `until`, in Unix seconds by the chain's clock. */
  readonly activator: Address
  readonly until: number
  /** The commitment that has to stand on chain. */
  readonly commitment: Hash32
}

/** A member of the list that was passed over: a later member was seated instead. `at` in milliseconds. */
export type Passed = { readonly position: number; readonly reason: PassReason; readonly at: number }

/**
 * The state of a member of the list: fit for an offer, busy, or the reason why it cannot have one. `withdrawn`: it does not offer the
 * model (`no-model`), and names no time before the job's deadline at which it will.
 */
export type MemberState = 'fit' | 'withdrawn' | PassReason

/** Why a member is passed over; undefined for one that is fit. */
export const passReasonOf = (state: MemberState | undefined): PassReason | undefined => {
  if (state === 'withdrawn') return 'no-model'
  return state === 'fit' ? undefined : state
}

/** The state of the job when all of its quorum had committed. Until the job settles, only its nodes are shown more. */
type FirstCommitted = {
  /** The lowest fence that a later assignment can have. */
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
  /** SHA-256 of the submission. The same job id with another body is a conflict. */
  readonly submissionHash: Hash32
  readonly createdAt: number
  readonly deadline: number
  /** The end of the last outage for which the deadlines were moved. */
  readonly excusedUntil?: number

  readonly phase: JobPhase
  readonly reason?: JobReason | undefined
  readonly settledAt?: number
  /** The number of seats: the quorum, and those added when no agreement was found. */
  readonly seats: number
  readonly nextFence: number
  readonly assignments: readonly Assignment[]
  /** The nodes that may take part, in the order in which they are seated. */
  readonly list: JobList
  /** The members that were passed over, in time order. */
  readonly passed: readonly Passed[]
  readonly firstCommitted?: FirstCommitted
  readonly agreement?: Agreement
  readonly weighing?: Weighing
  /** What nodes provably did wrong. */
  readonly faults?: readonly Fault[] | undefined
  /** For an accepted job: the fields of its receipt that this document does not hold otherwise. */
  readonly receipt?: Pick<Receipt, 'chain_id' | 'tally'>
  readonly receiptHash?: Hash32
  readonly commitTx?: Hash32
  /** The transaction that was sent last, whether or not it is deep enough. */
  readonly commitSentTx?: Hash32 | undefined
  readonly commitError?: string | undefined
  /** Where the client wants to be notified that the job has settled. */
  readonly webhook?: Webhook

  readonly events: readonly JobEvent[]
  /** The number (`seq`) of the first event that is shown only once the job has settled. */
  readonly heldFrom?: number
  /** The effects that are still to be done. Each is safe to repeat. */
  readonly outbox: readonly PendingEffect[]
  readonly nextEffect: number
  /** When to try next to fill empty seats; undefined while no seat is empty. */
  readonly fillAt?: number | undefined
  /** When the next tick is due; undefined once the job is settled. */
  readonly tickAt?: number | undefined
}

/** The time that a job has in all without outages, in milliseconds. */
export const jobMs = 600_000

/** The time of a command in milliseconds, and the limits of the job. */
export type Moment = { readonly now: number; readonly limits: JobLimits }

/** How long each step may take, in milliseconds, and how often it may fail. */
export type JobLimits = Readonly<typeof defaultJobLimits>

export const defaultJobLimits = {
  offerMs: 20_000,
  /** The shortest lease, unless the job's deadline is near. */
  leaseMs: 120_000,
  longestLeaseMs: 420_000,
  revealMs: 30_000,
  deliverMs: 45_000,
  checkMs: 45_000,
  /** How long the nodes have to weigh answers. They deliver and check meanwhile. */
  weighMs: 60_000,
  refillMs: 1_000,
  /** How long a job waits for a node without a free slot, while another node has one. */
  slotWaitMs: 20_000,
  maxAttempts: 3,
  /** How many running jobs one client may have. */
  maxJobsPerClient: 8,
}

/** The next state of a job, and the effects to be done. */
export type Change = { readonly job: Job; readonly effects: readonly Effect[] }

/** A command that is not taken. It may bring a change to save, such as a fault that it proves. */
export type Refusal = {
  readonly refused: ProblemCode
  readonly detail: string
  readonly noted?: Change | undefined
}

/** The outcome of a command. */
export type Transition = Change | Refusal

export const changeTo = (job: Job, effects: readonly Effect[] = []): Change => ({ job, effects })

export function refuse(refused: ProblemCode, detail: string, noted?: Change): Refusal {
  return { refused, detail, noted }
}

/** Adds a further change of the job, with its effects. */
export function afterwards({ job, effects }: Change, next: (job: Job) => Change): Change {
  const change = next(job)
  return changeTo(change.job, [...effects, ...change.effects])
}

export const isSettled = (phase: JobPhase): boolean =>
  phase === 'accepted' || phase === 'disputed' || phase === 'expired' || phase === 'cancelled'

/**
 * True once a job's outputs and evidence may be shown to its client and others. Before that, a node that has not committed could copy them,
 * and that node may belong to the client.
 */
export const mayShowAnswers = ({ phase }: Pick<Job, 'phase'>): boolean => isSettled(phase)

/** Statuses in which an assignment still holds its seat. */
export const isHeld = (status: AssignmentStatus): boolean =>
  status !== 'aborted' && status !== 'lapsed'

/** True while the node's time to reveal runs. */
export const isRevealing = ({ status, deadline }: Assignment): boolean =>
  status === 'committed' && deadline !== undefined

/** Statuses in which an assignment occupies one of its node's slots. Waiting for a grant occupies none. */
export const occupiesSlot = (status: AssignmentStatus): boolean =>
  status === 'offered' || status === 'claimed'

/** The role of an assignment's node: the member that was seated first leads. It delivers first if the nodes seated with it agree. */
export const roleOf = ({ assignments: [first] }: Job, { position }: Assignment): Role =>
  position === first?.position ? 'leader' : 'verifier'

/** The longest answer that the job allows. */
export const maxOutputTokensOf = ({ parameters }: Job): number =>
  parameters.max_output_tokens ?? defaultMaxOutputTokens

/** The newest assignment of a node in a job. */
export const assignmentOf = (job: Job, node: Address): Assignment | undefined =>
  job.assignments.findLast((assignment) => assignment.node === node)

/** The assignment with this fence. */
export const byFence = ({ assignments }: Job, fence: number | undefined): Assignment | undefined =>
  assignments.find((assignment) => assignment.fence === fence)

/** The node's assignment with this fence. Throws TypeError when there is none. */
export function assignmentFor(job: Job, node: Address, fence: number): Assignment {
  const found = byFence(job, fence)
  if (found?.node !== node) throw new TypeError(`${node} has no assignment ${fence}`)
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
/** A running job's events are hidden from the first of these on: a reader that resumes after a later event would never see this one. */
const heldEvents: ReadonlySet<string> = new Set(['committed'])

/** The job with one more event in its history. The oldest events are dropped beyond `maxEvents`. */
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
    events: [...job.events.slice(1 - maxEvents), event],
    ...(job.heldFrom === undefined && heldEvents.has(type) && { heldFrom: seq }),
  }
}
