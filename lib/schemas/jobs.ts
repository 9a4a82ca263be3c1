import { z } from 'zod'
import {
  Address,
  Cid,
  ComparatorId,
  Hash32,
  JobId,
  ModelId,
  ModelTier,
  Uint256,
  UnixSeconds,
} from '../codecs.ts'
import { JobListView, SignedList } from './list.ts'
import { AgreementRule } from './terms.ts'

/** A node's role in a job (spec 2.4). */
export const Role = z.enum(['leader', 'verifier'])
export type Role = z.output<typeof Role>

/** What a verifier found (spec 2.4). */
export const Verdict = z.enum(['match', 'no-match'])
export type Verdict = z.output<typeof Verdict>

/** Why a verdict is `no-match`: the first two by the evidence alone, of nodes outside the agreement; the others of an output that was opened. */
export const VerdictReason = z.enum([
  'different-answer',
  'inconclusive',
  'output-mismatch',
  'output-unavailable',
])
export type VerdictReason = z.output<typeof VerdictReason>

/**
 * The life of a job; the last four are settled and never change. It is the job's `phase` wherever an assignment's `status` may stand beside it: in the rules,
 * the history and what nodes are sent. A view of a job for its client calls it `status`, as HTTP APIs do.
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

/** Why a node cannot do an assignment; some may pass when tried again. */
export const AbortReason = z.enum([
  'key-handles-missing',
  'prompt-unavailable',
  'prompt-unreadable',
  'prompt-not-supported',
  'fhe-decrypt-denied',
  'coprocessor-unavailable',
  'chain-rate-limited',
  'node-chain-unavailable',
  'model-not-offered',
  'provider-key-refused',
  'provider-model-unknown',
  'provider-rate-limited',
  'provider-quota-used-up',
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

/** Why a member of the agreement did not deliver: it gave that back, its time ran out, or the others refused or could not check its output. */
export const DeliveryReason = z.enum([
  ...AbortReason.options,
  'never-delivered',
  'output-refused',
  'never-checked',
])
export type DeliveryReason = z.output<typeof DeliveryReason>

/** Why a job is where it is. */
export const JobReason = z.enum([
  'awaiting-grant',
  'not-enough-nodes',
  'attempts-exhausted',
  'list-used-up',
  'list-ended',
  'deadline-passed',
  'quorum-agreed',
  'quorum-disagreed',
  'undelivered',
  'cancelled-by-client',
])
export type JobReason = z.output<typeof JobReason>

/** The longest answer when the client does not say: the same at every node, or answers could not be compared. */
export const defaultMaxOutputTokens = 1_024

export const MaxOutputTokens = z.int().min(1).max(8_192)

/** What the client may set of the inference itself. */
export const Parameters = z
  .object({ max_output_tokens: MaxOutputTokens.optional() })
  .meta({ id: 'Parameters' })
export type Parameters = z.output<typeof Parameters>

/** How far the message that a job has settled is: it has still to arrive, it has, its receiver wants no more, or it was tried for a day. */
export const WebhookState = z.enum(['waiting', 'delivered', 'gone', 'given-up'])
export type WebhookState = z.output<typeof WebhookState>

/** Why a try got no answer: the name leads to no public address, nobody answers there, it took too long, or this ICL sends none any more. */
export const WebhookError = z.enum(['address-refused', 'unreachable', 'timeout', 'webhooks-off'])
export type WebhookError = z.output<typeof WebhookError>

/** A job to run. */
export const SubmitJob = z
  .object({
    model_id: ModelId,
    prompt_cid: Cid,
    kpHighHandle: Uint256,
    kpLowHandle: Uint256,
    /** As the ICL signed it: its terms say how the answers are compared. */
    list: SignedList,
    /** The end of the commitment to the list, Unix seconds by the chain's clock. */
    until: UnixSeconds,
    parameters: Parameters.optional(),
    client_nonce: Uint256,
    /** Where to post a signed message once the job has settled. */
    webhook: z.object({ url: z.url().max(2_048) }).optional(),
  })
  .meta({ id: 'SubmitJob' })
export type SubmitJob = z.output<typeof SubmitJob>

/** Reads and cancels one job. */
export const ReadToken = z.string().max(1_024)

/** The job that a submission made or found; the token reads it without a wallet. */
export const SubmittedJob = z
  .object({
    jobId: JobId,
    status: JobPhase,
    read_token: ReadToken,
    /** Verifies the messages to the webhook's URL: the same for each job of this client that names the URL. */
    webhook_secret: z.string().max(1_024).optional(),
  })
  .meta({ id: 'SubmittedJob' })

/** One assignment of a job as its client sees it: `claimed` until the job has settled, whatever came after the claim. */
export const AssignmentView = z
  .object({
    seat: z.int(),
    /** 0 for the quorum; each later batch has the seats that were added when no agreement was found. */
    batch: z.int(),
    /** On the job's list. */
    position: z.int(),
    /** `leader`: delivers the answer; before it is known who does, the first seat. */
    role: Role,
    node: Address,
    fence: z.int(),
    status: AssignmentStatus,
    reason: AssignmentReason.optional(),
    /** What it said of the delivery. */
    verdict: Verdict.optional(),
    verdict_reason: VerdictReason.optional(),
  })
  .meta({ id: 'AssignmentView' })

/** How far two answers are apart by their evidence. */
export const AnswerPair = z
  .object({
    nodes: z.tuple([Address, Address]),
    outcome: z.enum(['match', 'no-match', 'inconclusive']),
    /** The comparator's reason. */
    why: z.string().max(1_000).optional(),
    /** By channel, in thousandths. */
    similarities: z.record(z.string().max(64), z.int()).optional(),
  })
  .meta({ id: 'AnswerPair' })
export type AnswerPair = z.output<typeof AnswerPair>

/** How many answers of a job agree. */
export const AgreementView = z
  .object({
    rule: AgreementRule,
    /** Answers that had to match one another. */
    needed: z.int(),
    answers: z.int(),
    /** The nodes whose answers match one another, by batch and position; none when no group was large enough. */
    group: z.array(Address).max(7),
    /** The member whose answer was delivered. */
    deliverer: Address.optional(),
    pairs: z.array(AnswerPair).max(21),
  })
  .meta({ id: 'AgreementView' })
export type AgreementView = z.output<typeof AgreementView>

/** Of one job: a receipt names each of them. A node that leaves and comes back uses none of a seat's attempts up. */
export const mostAssignments = 64

/** A job as its client sees it. */
export const JobView = z
  .object({
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
    /** The nodes that may answer, in their order, with all that drawing it again takes. */
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
    /** What became of the message to the client's server; its URL is not shown. */
    webhook: z
      .object({
        state: WebhookState,
        attempts: z.int(),
        last_status: z.int().optional(),
        last_error: WebhookError.optional(),
      })
      .optional(),
  })
  .meta({ id: 'JobView' })
export type JobView = z.output<typeof JobView>

/** Something that happened to a job, in order; `seq` is the SSE id to resume from. From the first commitment on they come once the job has settled. */
export const JobEvent = z
  .object({
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
  .meta({ id: 'JobEvent' })
export type JobEvent = z.output<typeof JobEvent>
