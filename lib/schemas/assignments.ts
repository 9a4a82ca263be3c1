import { z } from 'zod'
import {
  Address,
  Cid,
  ComparatorId,
  Hash32,
  JobId,
  ModelId,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { AbortReason, AssignmentStatus, JobPhase, Parameters, Role } from './jobs.ts'
import { ListMembers, ListPosition } from './list.ts'
import { Ack, Fence, SignedAnswer, SignedDelivery, TurnNumber } from './statements.ts'

/** Work that is offered to a node (spec 2.4). */
export const AssignmentOffer = z
  .object({
    jobId: JobId,
    role: Role,
    model_id: ModelId,
    prompt_cid: Cid,
    client: Address,
    deadline: UnixSeconds,
    fence: Fence,
  })
  .meta({ id: 'AssignmentOffer' })
export type AssignmentOffer = z.output<typeof AssignmentOffer>

export const AssignmentOffers = z
  .object({ assignments: z.array(AssignmentOffer) })
  .meta({ id: 'AssignmentOffers' })

/** Which assignment a node speaks of. */
export const ClaimRequest = z.object({ jobId: JobId, fence: Fence }).meta({ id: 'ClaimRequest' })

/** Everything a node needs to run a claimed assignment (spec 2.3). */
export const ClaimResult = z
  .object({
    jobId: JobId,
    fence: Fence,
    role: Role,
    kpHighHandle: Uint256,
    kpLowHandle: Uint256,
    claimDeadline: UnixSeconds,
    /** The ICL's clock, so that a node whose own is wrong knows how long it has. */
    server_time: UnixSeconds,
    client: Address,
    model_id: ModelId,
    prompt_cid: Cid,
    comparator: ComparatorId,
    parameters: Parameters.required(),
    /** What the client committed to on chain: the list, who may activate its members until when, and where this node stands. */
    list: ListMembers,
    position: z.int().min(0),
    activator: Address,
    until: UnixSeconds,
  })
  .meta({ id: 'ClaimResult' })
export type ClaimResult = z.output<typeof ClaimResult>

/** A node's promise of its evidence, made before it may see that of others. */
export const CommitRequest = z
  .object({ jobId: JobId, fence: Fence, commitment: Hash32 })
  .meta({ id: 'CommitRequest' })

/**
 * What a node does next. `work`: claim, answer and commit. `wait`: ask again, for others have to act first. `reveal`: open its commitment. `deliver`: put its
 * answer where client and checkers can read it. `check`: open another's output, and say what it is. `differ`: say how its own answer differs from the
 * delivered one. `over`: nothing more.
 */
export const NextStep = z.enum(['work', 'wait', 'reveal', 'deliver', 'check', 'differ', 'over'])
export type NextStep = z.output<typeof NextStep>

/** A delivery to check, and the answer of the node that delivers; with its wallet's word for the keys, because nobody looks for an ICL's sake alone. */
export const DeliveryToCheck = z
  .object({ delivery: SignedDelivery, answer: SignedAnswer })
  .meta({ id: 'DeliveryToCheck' })
export type DeliveryToCheck = z.output<typeof DeliveryToCheck>

/** A node's own assignment in a job, and what to do next. */
export const OwnAssignment = z
  .object({
    jobId: JobId,
    status: AssignmentStatus,
    phase: JobPhase,
    role: Role,
    fence: Fence,
    step: NextStep,
    /** Of the step. */
    deadline: UnixSeconds.optional(),
    /** The ICL's clock, so that a node whose own is wrong knows how long it has. */
    server_time: UnixSeconds,
    /** With `deliver`, `check` and `differ`: whose turn it is. */
    turn: TurnNumber.optional(),
    /** With `deliver`: the positions on the list that have to read the output key besides the client. */
    checkers: z.array(ListPosition).optional(),
    /** With `check` and `differ`. */
    to_check: DeliveryToCheck.optional(),
  })
  .meta({ id: 'OwnAssignment' })
export type OwnAssignment = z.output<typeof OwnAssignment>

/** The node cannot do it. What it has revealed stays: a part in a turn is given back by a statement of its own. */
export const AbortRequest = z
  .object({ jobId: JobId, fence: Fence, reason: AbortReason })
  .meta({ id: 'AbortRequest' })

/** Where the assignment and the job stand now. */
export const AssignmentState = z
  .object({ jobId: JobId, status: AssignmentStatus, phase: JobPhase })
  .meta({ id: 'AssignmentState' })

/** Where they stand after a commitment, an answer or a delivery, with the ICL's word that it has it. */
export const Acknowledged = AssignmentState.extend({ ack: Ack }).meta({ id: 'Acknowledged' })
export type Acknowledged = z.output<typeof Acknowledged>
