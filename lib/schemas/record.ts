import { z } from 'zod'
import { Address, Hash32, UnixSeconds } from '../codecs.ts'
import { FaultView } from './fault.ts'
import { AssignmentView, DeliveryReason, JobEvent, JobView, mostAssignments } from './jobs.ts'
import { named } from './named.ts'
import {
  SignedAnswer,
  SignedDelivery,
  SignedNumbers,
  SignedTurnAbort,
  SignedVerdict,
} from './statements.ts'

/** A turn to deliver of a member of the agreement, and the verdicts on its delivery. */
const DeliveryRecord = named('DeliveryRecord', {
  deliverer: Address,
  fence: z.int(),
  outcome: z.enum(['settled', 'failed', 'unfinished']),
  reason: DeliveryReason.optional(),
  ended_at: UnixSeconds.optional(),
  /** The statement with which the deliverer gave its turn back. */
  abort: SignedTurnAbort.optional(),
  delivery: SignedDelivery.optional(),
  verdicts: z.array(SignedVerdict).max(6),
})

/** One attempt of a node at a seat, with its answer, once the job has settled, and its scores. */
const AssignmentRecord = AssignmentView.extend({
  attempt: z.int(),
  deadline: UnixSeconds.optional(),
  ended_at: UnixSeconds.optional(),
  commitment: Hash32.optional(),
  answer: SignedAnswer.optional(),
  /** Codes of the reputation events of this attempt. */
  scores: z.array(z.string().max(64)).max(64),
}).meta({ id: 'AssignmentRecord' })

/** An effect that the ICL has still to deliver for the job, and its last error. */
const PendingWork = named('PendingWork', {
  type: z.string().max(64),
  node: Address.optional(),
  due_at: UnixSeconds,
  attempts: z.int(),
  error: z.string().max(10_000).optional(),
})

/** Everything that happened in a job, for its client. */
export const JobRecord = named('JobRecord', {
  job: JobView,
  settled_at: UnixSeconds.optional(),
  assignments: z.array(AssignmentRecord).max(mostAssignments),
  /** In the order of their turns. */
  deliveries: z.array(DeliveryRecord).max(7),
  /** How likely the answers are under the models of other nodes, by their word. */
  attested: z.array(SignedNumbers).max(7).optional(),
  /** The latest 200. */
  events: z.array(JobEvent).max(200),
  faults: z.array(FaultView).max(1_000),
  commit: z.object({
    state: z.enum(['not-needed', 'pending', 'done']),
    tx: Hash32.optional(),
    /** The transaction that was sent last, confirmed or not. */
    sent_tx: Hash32.optional(),
    error: z.string().max(10_000).optional(),
  }),
  pending: z.array(PendingWork).max(10_000),
})
export type JobRecord = z.output<typeof JobRecord>
