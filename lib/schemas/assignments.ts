import { z } from 'zod'
import {
  Address,
  Base64Url,
  Cid,
  ComparatorId,
  Hash32,
  JobId,
  ModelId,
  SessionSignature,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { Evidence } from './evidence.ts'
import {
  AbortReason,
  AssignmentStatus,
  JobPhase,
  MaxOutputTokens,
  Parameters,
  Role,
  Verdict,
  VerdictReason,
} from './jobs.ts'
import { ListMembers } from './list.ts'

/** Grows with every offer of a job's assignments: whoever holds an older one has lost the assignment. */
export const Fence = z.int().min(1).max(1_000_000)

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
    /** Who must be able to read the output key: the client and the verifiers. */
    output_readers: z.array(Address),
    /** May grant the output key to verifiers that join later. */
    output_delegate: Address,
  })
  .meta({ id: 'ClaimResult' })
export type ClaimResult = z.output<typeof ClaimResult>

/** A verifier's promise of its evidence, made before it may see the leader's. */
export const CommitRequest = z
  .object({ jobId: JobId, fence: Fence, commitment: Hash32 })
  .meta({ id: 'CommitRequest' })

/** What a leader answers and signs: where its output is, who can open it, and what it looks like. */
export const LeaderResultBody = z.object({
  jobId: JobId,
  fence: Fence,
  /** The model that gave the answer: what the node vouches for. */
  model_id: ModelId,
  max_output_tokens: MaxOutputTokens,
  output_cid: Cid,
  outHighHandle: Uint256,
  outLowHandle: Uint256,
  evidence: Evidence,
})

/** The leader's result (spec 4). */
export const LeaderResult = LeaderResultBody.extend({ signature: SessionSignature }).meta({
  id: 'LeaderResult',
})
export type LeaderResult = z.output<typeof LeaderResult>

/** The leader's signed statement as others see it. */
export const SignedLeaderStatement = LeaderResult.extend({ address: Address }).meta({
  id: 'SignedLeaderStatement',
})

/** What a verifier answers and signs: its verdict, its own evidence, and what it compared with. */
export const VerifierVerdictBody = z.object({
  jobId: JobId,
  fence: Fence,
  /** The model that gave the verifier's own answer. */
  model_id: ModelId,
  max_output_tokens: MaxOutputTokens,
  verdict: Verdict,
  reason: VerdictReason.optional(),
  evidence: Evidence,
  salt: Base64Url(32),
  /** SHA-256 of the leader statement that was compared with. */
  leader_statement: Hash32,
})

/** A verifier's verdict (spec 4). */
export const VerifierVerdict = VerifierVerdictBody.extend({ signature: SessionSignature }).meta({
  id: 'VerifierVerdict',
})
export type VerifierVerdict = z.output<typeof VerifierVerdict>

/** A node's own assignment in a job; the leader's statement only once the node has committed. */
export const OwnAssignment = z
  .object({
    jobId: JobId,
    status: AssignmentStatus,
    phase: JobPhase,
    role: Role,
    fence: Fence,
    deadline: UnixSeconds.optional(),
    /** The ICL's clock, so that a node whose own is wrong knows how long it has. */
    server_time: UnixSeconds,
    leader_statement: SignedLeaderStatement.optional(),
  })
  .meta({ id: 'OwnAssignment' })
export type OwnAssignment = z.output<typeof OwnAssignment>

/** The node cannot do it. */
export const AbortRequest = z
  .object({ jobId: JobId, fence: Fence, reason: AbortReason })
  .meta({ id: 'AbortRequest' })

/** Where the assignment and the job stand now. */
export const AssignmentState = z
  .object({ jobId: JobId, status: AssignmentStatus, phase: JobPhase })
  .meta({ id: 'AssignmentState' })
