import { z } from 'zod'
import {
  Address,
  BlockNumber,
  CheckId,
  Cid,
  ComparatorId,
  Hash32,
  JobId,
  ModelId,
  RetryAfter,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { AbortReason, AssignmentStatus, JobPhase, Parameters, Role } from './jobs.ts'
import { ListMembers, ListPosition } from './list.ts'
import { named } from './named.ts'
import {
  Ack,
  BatchCommitments,
  Fence,
  SignedAnswer,
  SignedDelivery,
  TurnNumber,
} from './statements.ts'
import { maxListLength } from './terms.ts'

const ServerTime = UnixSeconds.describe(
  "The ICL's clock, so that a node whose own is wrong knows how long it has",
)

/** The slowest speed that a claim names, in milliseconds per output token. */
export const mostMsPerToken = 10_000

/** What a node learns of its work before and with its claim. */
const work = {
  jobId: JobId,
  fence: Fence,
  role: Role,
  client: Address,
  model_id: ModelId,
  prompt_cid: Cid,
  comparator: ComparatorId,
  check: CheckId.optional().describe(
    'The check of the answers that the terms ask for, besides the verdict',
  ),
  parameters: Parameters.required(),
  list: ListMembers.describe('With activator and until: what the client committed to on chain'),
  position: ListPosition.describe('Of this node on the list, from 0'),
  activator: Address,
  until: UnixSeconds,
}

/** Work that is offered to a node (spec 2.4): all but the handles. */
export const AssignmentOffer = named('AssignmentOffer', {
  ...work,
  deadline: UnixSeconds.describe('Until when the node may claim it'),
})
export type AssignmentOffer = z.output<typeof AssignmentOffer>

/** Names one of the node's assignments, and how fast the node is, which makes the lease. */
export const ClaimRequest = named('ClaimRequest', {
  jobId: JobId,
  fence: Fence,
  ms_per_token: z
    .int()
    .min(1)
    .max(mostMsPerToken)
    .optional()
    .describe("Milliseconds per output token of the job's model, once the node has measured them"),
})
export type ClaimRequest = z.output<typeof ClaimRequest>

/** Everything a node needs to run a claimed assignment (spec 2.3). */
export const ClaimResult = named('ClaimResult', {
  ...work,
  kpHighHandle: Uint256,
  kpLowHandle: Uint256,
  block_number: BlockNumber.describe('Of the prompt key: a chain RPC that lacks it is behind'),
  claimDeadline: UnixSeconds,
  server_time: ServerTime,
})
export type ClaimResult = z.output<typeof ClaimResult>

/** The answer to a poll. */
export const AssignmentOffers = named('AssignmentOffers', {
  assignments: z.array(AssignmentOffer).max(256),
})

/** A node's commitment to its evidence, made before it can see others' evidence. */
export const CommitRequest = named('CommitRequest', {
  jobId: JobId,
  fence: Fence,
  commitment: Hash32.describe('SHA-256 of JCS{jobId, address, fence, evidence, salt}'),
})

/** The node's next step. */
export const NextStep = z
  .enum(['work', 'wait', 'reveal', 'show', 'deliver', 'check', 'differ', 'weigh', 'open', 'over'])
  .describe(
    '`work`: claim, answer and commit. `wait`: ask again, others act first or the node has said it all. `reveal`: open the commitment. `show`: seal the own answer for the other nodes of the job. `deliver`: put the answer where client and checkers can read it. `check`: open the output of another and say what it is. `differ`: say from the evidence how the own answer, outside the agreement, differs. `weigh`: commit to numbers of the answers of two others. `open`: open these numbers. `over`: nothing more',
  )
export type NextStep = z.output<typeof NextStep>

/** A delivery to check with the deliverer's answer, both with the wallet's grant for the session key: a node need not trust the ICL. */
export const DeliveryToCheck = named('DeliveryToCheck', {
  delivery: SignedDelivery,
  answer: SignedAnswer,
})
export type DeliveryToCheck = z.output<typeof DeliveryToCheck>

/** An answer to weigh, and where its node has put the sealed text. */
export const AnswerToWeigh = named('AnswerToWeigh', { answer: SignedAnswer, cid: Cid })
export type AnswerToWeigh = z.output<typeof AnswerToWeigh>

/** A node's own assignment in a job, and its next step. */
export const OwnAssignment = named('OwnAssignment', {
  jobId: JobId,
  status: AssignmentStatus,
  phase: JobPhase,
  role: Role,
  fence: Fence,
  step: NextStep,
  deadline: UnixSeconds.optional().describe('Of the step'),
  server_time: ServerTime,
  commitments: BatchCommitments.optional().describe(
    'With `reveal`: those of the batch, by fence. The node reveals only if its own is among them, and signs their hash',
  ),
  turn: TurnNumber.optional().describe('With `deliver`, `check` and `differ`: whose it is'),
  checkers: z
    .array(ListPosition)
    .max(maxListLength)
    .optional()
    .describe(
      'With `deliver`: the positions on the list that have to read the output key, besides the client. They are the bits of the mask of `storeKey`',
    ),
  to_check: DeliveryToCheck.optional().describe(
    'With `check` and `differ`: the delivery, and the answer of the node that delivers',
  ),
  to_weigh: z
    .array(AnswerToWeigh)
    .max(2)
    .optional()
    .describe('With `weigh`: the answers of the two nodes before this one that were shown'),
})
export type OwnAssignment = z.output<typeof OwnAssignment>

/** Where the node has put its sealed answer for the other nodes of the job. */
export const ShowRequest = named('ShowRequest', {
  jobId: JobId,
  fence: Fence,
  cid: Cid.optional().describe('Left out by a node that has lost its answer'),
})

/** A node's commitment to its numbers, made before it can see those of others. */
export const WeighRequest = named('WeighRequest', {
  jobId: JobId,
  fence: Fence,
  commitment: Hash32.optional().describe(
    'SHA-256 of the `NumbersStatement`. Left out by a node that has no numbers',
  ),
})

/** The node gives an assignment back. An answer that it has revealed stays. It gives back its part in a turn by a statement instead. */
export const AbortRequest = named('AbortRequest', {
  jobId: JobId,
  fence: Fence,
  reason: AbortReason,
  retry_after: RetryAfter.optional().describe(
    'The seconds that its provider asks it to wait: it gets no seat of the job before',
  ),
})

/** The present state of the assignment and the job. */
export const AssignmentState = named('AssignmentState', {
  assignments: z
    .array(AssignmentOffer)
    .max(256)
    .optional()
    .describe('After a step: what is offered to the node now, as in a poll'),
  jobId: JobId,
  status: AssignmentStatus,
  phase: JobPhase,
  next: OwnAssignment.optional().describe(
    'With `wait`: the next step once there is one, or `wait` when that took too long. The rest is as it was before the wait',
  ),
})
export type AssignmentState = z.output<typeof AssignmentState>

/** The state after a commitment, an answer or a delivery, with the ICL's acknowledgement. */
export const Acknowledged = named('Acknowledged', { ...AssignmentState.shape, ack: Ack })
export type Acknowledged = z.output<typeof Acknowledged>
