import { z } from 'zod'
import { Address, ComparatorId, Hash32, JobId, ModelId, ModelTier, UnixSeconds } from '../codecs.ts'
import {
  AgreementView,
  AnswerPair,
  AssignmentReason,
  AssignmentStatus,
  DeliveryReason,
  JobPhase,
  JobReason,
  Role,
  Verdict,
  VerdictReason,
} from './jobs.ts'
import { PassReason } from './list.ts'
import { AttestationBackend, IneligibleReason } from './nodes.ts'
import { AttestedNumbers } from './teacher.ts'
import { AgreementRule } from './terms.ts'

/** What a job is called in the console while its id is nobody's business: 16 hex digits that only its ICL can make of the id. */
export const JobRef = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .meta({ id: 'JobRef' })

/** A job as everybody may see it: nothing of its client, and its id only once it has settled. */
export const ConsoleJob = z
  .object({
    ref: JobRef,
    jobId: JobId.optional(),
    status: JobPhase,
    reason: JobReason.optional(),
    model_id: ModelId,
    min_tier: ModelTier,
    comparator: ComparatorId,
    /** Nodes that answer at first. */
    quorum: z.int(),
    /** Once it has settled: the answers that were given, and how many of them match one another. */
    answers: z.int().optional(),
    agreed: z.int().optional(),
    created_at: UnixSeconds,
    settled_at: UnixSeconds.optional(),
    /** From submission to settling. */
    seconds: z.number().optional(),
    commit_tx: Hash32.optional(),
  })
  .meta({ id: 'ConsoleJob' })
export type ConsoleJob = z.output<typeof ConsoleJob>

/** Jobs, newest first. */
export const ConsoleJobs = z
  .object({ jobs: z.array(ConsoleJob).max(100), next_cursor: z.string().nullable() })
  .meta({ id: 'ConsoleJobs' })

/** One seat's attempt; who and with what verdict only once the job has settled. */
const ConsoleAssignment = z
  .object({
    seat: z.int(),
    /** 0 for the quorum; each later batch has the seats that were added when no agreement was found. */
    batch: z.int(),
    role: Role,
    status: AssignmentStatus,
    reason: AssignmentReason.optional(),
    node: Address.optional(),
    verdict: Verdict.optional(),
    verdict_reason: VerdictReason.optional(),
    /** How likely the delivered text is under its model, by its own word; it decides nothing. */
    attested: AttestedNumbers.optional(),
  })
  .meta({ id: 'ConsoleAssignment' })

/** Whose answers match, and nothing of how far the others are apart. */
const ConsoleAgreement = AgreementView.extend({
  pairs: z.array(AnswerPair.omit({ why: true, similarities: true })),
}).meta({ id: 'ConsoleAgreement' })

/** The turn of a member of the agreement to deliver. */
const ConsoleDelivery = z
  .object({
    node: Address,
    outcome: z.enum(['settled', 'failed', 'unfinished']),
    reason: DeliveryReason.optional(),
  })
  .meta({ id: 'ConsoleDelivery' })

/** A job's list in numbers: who is on it is nobody's business. */
const ConsoleList = z
  .object({
    members: z.int(),
    /** How many answers have to match one another. */
    rule: AgreementRule,
    /** How many of them were passed over, by reason. */
    passed: z.partialRecord(PassReason, z.int()),
  })
  .meta({ id: 'ConsoleList' })

/** Something that happened to a job. */
export const ConsoleEvent = z
  .object({
    seq: z.int(),
    at: UnixSeconds,
    type: z.string().max(64),
    phase: JobPhase,
    seat: z.int().optional(),
    role: Role.optional(),
    node: Address.optional(),
    detail: z.string().max(128).optional(),
  })
  .meta({ id: 'ConsoleEvent' })
export type ConsoleEvent = z.output<typeof ConsoleEvent>

/** A job with what happened to it. */
export const ConsoleJobDetail = z
  .object({
    job: ConsoleJob,
    assignments: z.array(ConsoleAssignment),
    /** Only once the job has settled. */
    agreement: ConsoleAgreement.optional(),
    /** In the order of their turns; none until the job has settled. */
    deliveries: z.array(ConsoleDelivery),
    list: ConsoleList,
    timeline: z.array(ConsoleEvent),
    receipt_hash: Hash32.optional(),
  })
  .meta({ id: 'ConsoleJobDetail' })
export type ConsoleJobDetail = z.output<typeof ConsoleJobDetail>

/** A node with a certificate, and why it cannot be drawn, if it cannot. */
export const ConsoleNode = z
  .object({
    address: Address,
    backend: AttestationBackend,
    tiers: z.array(ModelTier),
    model_ids: z.array(ModelId),
    certified_at: UnixSeconds,
    expires_at: UnixSeconds,
    last_heartbeat: UnixSeconds.optional(),
    version: z.string().optional(),
    active: z.boolean(),
    reasons: z.array(IneligibleReason),
    score: z.int(),
    /** In the draw of lists: made of the score and of the doubt about the node. */
    weight: z.int(),
    completed: z.int(),
    accepted: z.int(),
    rejected: z.int(),
    slashed_gwei: z.int(),
  })
  .meta({ id: 'ConsoleNode' })
export type ConsoleNode = z.output<typeof ConsoleNode>

/** Nodes, by address. */
export const ConsoleNodes = z
  .object({ nodes: z.array(ConsoleNode).max(200), next_cursor: z.string().nullable() })
  .meta({ id: 'ConsoleNodes' })

/** The jobs that settled in one minute. */
export const ConsoleMinute = z
  .object({
    at: UnixSeconds,
    accepted: z.int(),
    /** Disputed, expired. */
    failed: z.int(),
    cancelled: z.int(),
    /** Seconds from submission to acceptance; left out where nothing was accepted. */
    median_seconds: z.number().optional(),
    p95_seconds: z.number().optional(),
  })
  .meta({ id: 'ConsoleMinute' })
export type ConsoleMinute = z.output<typeof ConsoleMinute>

/** The ICL at a glance. */
export const ConsoleOverview = z
  .object({
    at: UnixSeconds,
    version: z.string(),
    chain_id: z.int(),
    ready: z.boolean(),
    /** Problems. */
    reasons: z.array(z.string()),
    chain: z.object({ connected: z.boolean() }),
    store: z.object({ connected: z.boolean(), durable: z.boolean(), writable: z.boolean() }),
    /** What the ICL still has to do outside; null when the store does not tell. */
    outbox: z.object({ waiting: z.int(), oldest_seconds: z.int() }).nullable(),
    /** Draws that wait for their turn at the process that tells. */
    draws_waiting: z.int(),
    /** Null when the store does not tell. */
    jobs_by_phase: z.partialRecord(JobPhase, z.int()).nullable(),
    /** When the oldest job came that waits for nodes; null when none does. */
    waiting_since: UnixSeconds.nullable(),
    /** Requests that this process refused in the last hour for load, limits or want of nodes, by code. */
    refused: z.record(z.string().max(64), z.int()),
    /** Null when the chain does not tell. */
    nodes: z.object({ certified: z.int(), active: z.int() }).nullable(),
    /** The last hour, oldest minute first; null when the store does not tell. */
    minutes: z.array(ConsoleMinute).max(61).nullable(),
    /** From when on `minutes` has every job. */
    minutes_since: UnixSeconds.nullable(),
  })
  .meta({ id: 'ConsoleOverview' })
export type ConsoleOverview = z.output<typeof ConsoleOverview>

/** What the stream brings: how the ICL is, jobs that changed, or that too many did to list them. */
export const ConsoleNews = z.discriminatedUnion('type', [
  z.object({ type: z.literal('overview'), overview: ConsoleOverview }),
  z.object({ type: z.literal('jobs'), jobs: z.array(ConsoleJob).max(100) }),
  z.object({ type: z.literal('reload') }),
])
export type ConsoleNews = z.output<typeof ConsoleNews>
