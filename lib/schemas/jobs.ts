import { z } from 'zod'
import {
  Address,
  Cid,
  ComparatorId,
  Hash32,
  JobId,
  ModelId,
  ModelTier,
  NextCursor,
  RetryAfter,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { JobListView, SignedList } from './list.ts'
import { named } from './named.ts'
import { AgreementRule } from './terms.ts'

/** A node's role in a job (spec 2.4). */
export const Role = z.enum(['leader', 'verifier'])
export type Role = z.output<typeof Role>

/** A node's verdict on a delivery (spec 2.4). */
export const Verdict = z.enum(['match', 'no-match'])
export type Verdict = z.output<typeof Verdict>

/** Why a verdict is `no-match`: the first two by evidence alone, from nodes outside the agreement; the others on an opened output. */
export const VerdictReason = z.enum([
  'different-answer',
  'inconclusive',
  'output-mismatch',
  'output-unavailable',
])
export type VerdictReason = z.output<typeof VerdictReason>

/**
 * The life of a job. The last four are settled and never change. It is called `phase` wherever an assignment's `status` may be beside it:
 * in the rules, the history and what nodes are sent. A client's view of a job calls it `status`, as HTTP APIs do.
 */
export const JobPhase = z.enum(['open', 'running', 'accepted', 'disputed', 'expired', 'cancelled'])
export type JobPhase = z.output<typeof JobPhase>

/** The life of one assignment. */
export const AssignmentStatus = z.enum([
  'awaiting-grant',
  'offered',
  'claimed',
  'committed',
  'revealed',
  'aborted',
  'lapsed',
])
export type AssignmentStatus = z.output<typeof AssignmentStatus>

/** Why a node cannot do an assignment. For some a retry may help. */
export const AbortReason = z.enum([
  'key-handles-missing',
  'prompt-unavailable',
  'prompt-unreadable',
  'envelope-invalid',
  'prompt-not-supported',
  'fhe-decrypt-denied',
  'coprocessor-unavailable',
  'chain-rate-limited',
  'node-chain-unavailable',
  'model-not-offered',
  'provider-key-missing',
  'provider-key-refused',
  'provider-model-unknown',
  'provider-rate-limited',
  'provider-quota-used-up',
  'provider-prompt-too-long',
  'provider-refused',
  'provider-unreachable',
  'provider-unavailable',
  'provider-silent',
  'provider-protocol-wrong',
  'provider-answer-empty',
  'provider-answer-too-large',
  'list-untrusted',
  'encryption-failed',
  'wallet-empty',
  'store-key-reverted',
  'output-upload-failed',
  'deadline-too-close',
  'journal-unwritable',
  'signed-before',
  'node-stopping',
  'node-crashed',
  'answer-lost',
  'node-failed',
])
export type AbortReason = z.output<typeof AbortReason>

/** Why an assignment ended without an answer. */
export const AssignmentReason = z.enum([
  ...AbortReason.options,
  'offer-lapsed',
  'lease-lapsed',
  'never-revealed',
  'grant-refused',
  'node-busy',
  'node-left',
])
export type AssignmentReason = z.output<typeof AssignmentReason>

/** Why a member did not deliver: it gave its turn back, its time ran out, or the others refused or could not check its output. */
export const DeliveryReason = z.enum([
  ...AbortReason.options,
  'never-delivered',
  'output-refused',
  'never-checked',
])
export type DeliveryReason = z.output<typeof DeliveryReason>

/** Why a job is in its phase. */
export const JobReason = z.enum([
  'awaiting-grant',
  'not-enough-nodes',
  'attempts-exhausted',
  'list-used-up',
  'list-ended',
  'list-differs',
  'deadline-passed',
  'quorum-agreed',
  'quorum-disagreed',
  'undelivered',
  'cancelled-by-client',
])
export type JobReason = z.output<typeof JobReason>

/** The longest answer unless the client says otherwise. It must be the same at every node, or answers could not be compared. */
export const defaultMaxOutputTokens = 1_024

export const MaxOutputTokens = z.int().min(1).max(8_192)

/** The parameters of the inference that the client may set. */
export const Parameters = named('Parameters', { max_output_tokens: MaxOutputTokens.optional() })
export type Parameters = z.output<typeof Parameters>

/** The state of the webhook's message: it waits, it was delivered, its receiver wants no more, or the ICL gave up after a day. */
export const WebhookState = z.enum(['waiting', 'delivered', 'gone', 'given-up'])
export type WebhookState = z.output<typeof WebhookState>

/**
 * Why an attempt failed: the name has no public address, no HTTP server responds there, its TLS or certificate is not accepted, it took too
 * long, or this ICL sends no more webhooks.
 */
export const WebhookError = z.enum([
  'address-refused',
  'unreachable',
  'tls-failed',
  'timeout',
  'webhooks-off',
])
export type WebhookError = z.output<typeof WebhookError>

/** A job to run. */
export const SubmitJob = named('SubmitJob', {
  model_id: ModelId,
  prompt_cid: Cid,
  kpHighHandle: Uint256,
  kpLowHandle: Uint256,
  /** The list that the ICL signed. Its terms say how the answers are compared. */
  list: SignedList,
  /** The end of the commitment to the list, Unix seconds by the chain's clock. */
  until: UnixSeconds,
  parameters: Parameters.optional(),
  client_nonce: Uint256,
  /** The URL for a signed message once the job has settled. */
  webhook: z.object({ url: z.url().max(2_048) }).optional(),
})
export type SubmitJob = z.output<typeof SubmitJob>

/** A token that reads and cancels one job. */
const ReadToken = z.string().max(1_024)

/** The job that a submission made or found. The token reads it without a wallet. */
export const SubmittedJob = named('SubmittedJob', {
  jobId: JobId,
  status: JobPhase,
  read_token: ReadToken,
  /** Verifies the webhook's messages. It is the same for each job of this client with that URL. */
  webhook_secret: z.string().max(1_024).optional(),
})

/** One assignment of a job, for its client. Its status stays `claimed` from the claim until the job has settled. */
export const AssignmentView = named('AssignmentView', {
  seat: z.int(),
  /** 0 for the quorum. A later batch has the seats that were added when no agreement was found, or whose nodes did not reveal. */
  batch: z.int(),
  /** The node's position on the job's list. */
  position: z.int(),
  /** `leader`: the first member of the list that was seated. It delivers if the answers of the quorum agree. */
  role: Role,
  node: Address,
  fence: z.int(),
  status: AssignmentStatus,
  reason: AssignmentReason.optional(),
  /** The seconds that the node's provider asked it to wait, from the end of the assignment on. */
  retry_after: RetryAfter.optional(),
  /** The node's verdict on the delivery. */
  verdict: Verdict.optional(),
  verdict_reason: VerdictReason.optional(),
  /** Why the node's turn to deliver failed, once the job has settled. */
  delivery_reason: DeliveryReason.optional(),
})

/** A comparison of two answers' evidence. */
export const AnswerPair = named('AnswerPair', {
  nodes: z.tuple([Address, Address]),
  outcome: z.enum(['match', 'no-match', 'inconclusive']),
  /** The comparator's reason. */
  why: z.string().max(1_000).optional(),
  /** By channel, in thousandths. */
  similarities: z.record(z.string().max(64), z.int()).optional(),
})
export type AnswerPair = z.output<typeof AnswerPair>

/** How many answers of a job agree. */
export const AgreementView = named('AgreementView', {
  rule: AgreementRule,
  /** The quota: answers that have to match one another. */
  needed: z.int(),
  answers: z.int(),
  /** The nodes whose answers match one another, ordered by batch and position; empty when no group was large enough. */
  group: z.array(Address).max(7),
  /** The member whose answer was delivered. */
  deliverer: Address.optional(),
  pairs: z.array(AnswerPair).max(21),
})
export type AgreementView = z.output<typeof AgreementView>

/** The most assignments of a job, each of which a receipt names. A node that leaves and returns uses up none of a seat's attempts. */
export const mostAssignments = 64

/** A job, for its client. */
export const JobView = named('JobView', {
  jobId: JobId,
  client: Address,
  status: JobPhase,
  reason: JobReason.optional(),
  model_id: ModelId,
  min_tier: ModelTier,
  prompt_cid: Cid,
  comparator: ComparatorId,
  created_at: UnixSeconds,
  deadline: UnixSeconds,
  quorum: z.array(AssignmentView).max(mostAssignments),
  /** The nodes that may answer, in order, with all that drawing the list again needs. */
  list: JobListView,
  /** Only once the job has settled. */
  agreement: AgreementView.optional(),
  /** The output and its key, once the job has settled. */
  output_cid: Cid.optional(),
  outHighHandle: Uint256.optional(),
  outLowHandle: Uint256.optional(),
  receipt_hash: Hash32.optional(),
  commit_tx: Hash32.optional(),
  commit_error: z.string().max(10_000).optional(),
  /** The state of the message to the client's server. Its URL is not shown. */
  webhook: z
    .object({
      state: WebhookState,
      attempts: z.int(),
      last_status: z.int().optional(),
      last_error: WebhookError.optional(),
    })
    .optional(),
})
export type JobView = z.output<typeof JobView>

/** An event of a job; `seq` is the SSE id to resume from. Events from the first commitment on are sent once the job has settled. */
export const JobEvent = named('JobEvent', {
  seq: z.int(),
  at: UnixSeconds,
  type: z
    .string()
    .max(64)
    .describe(
      '`submitted`, `chosen`, `awaiting-grant`, `offered`, `node-busy`, `claimed`, `committed`, `revealed`, `aborted`, `lapsed`, `seats-added`, `not-enough-nodes`, `time-away`, `agreed`, `to-deliver`, `delivered`, `verdict-match`, `verdict-no-match`, `delivery-failed`, `fault-found`, `slash-proposed`, `slash-answered`, or the phase in which it settles. Others may be added',
    ),
  phase: JobPhase,
  node: Address.optional(),
  role: Role.optional(),
  fence: z.int().optional(),
  detail: z.string().max(1_000).optional(),
})
export type JobEvent = z.output<typeof JobEvent>

/** Selects the caller's own jobs. */
export const JobListQuery = z.object({ status: JobPhase.optional() })

/** A job in a list. The token reads the rest of it. */
const JobSummary = named('JobSummary', {
  jobId: JobId,
  status: JobPhase,
  reason: JobReason.optional(),
  model_id: ModelId,
  prompt_cid: Cid,
  output_cid: Cid.optional(),
  receipt_hash: Hash32.optional(),
  created_at: UnixSeconds,
  deadline: UnixSeconds,
  settled_at: UnixSeconds.optional(),
  read_token: ReadToken,
})
export type JobSummary = z.output<typeof JobSummary>

/** A page of the caller's own jobs, newest first. */
export const JobList = named('JobList', {
  jobs: z.array(JobSummary).max(50),
  next_cursor: NextCursor,
})
