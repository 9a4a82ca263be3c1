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
import { named } from './named.ts'
import { AttestationBackend, IneligibleReason } from './nodes.ts'
import { AttestedNumbers } from './teacher.ts'
import { AgreementRule } from './terms.ts'

/** A job's name in the console while its id is secret: 16 hex digits that only the ICL can derive from the id. */
export const JobRef = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .meta({ id: 'JobRef', examples: ['5a5a5a5a5a5a5a5a'] })

/** The public view of a job: nothing of its client, and its id only once it has settled. */
export const ConsoleJob = named('ConsoleJob', {
  ref: JobRef,
  jobId: JobId.optional(),
  status: JobPhase,
  reason: JobReason.optional(),
  model_id: ModelId,
  min_tier: ModelTier,
  comparator: ComparatorId,
  /** Nodes of the first batch. */
  quorum: z.int(),
  /** Set once it has settled: the number of answers, and how many of them match one another. */
  answers: z.int().optional(),
  agreed: z.int().optional(),
  created_at: UnixSeconds,
  settled_at: UnixSeconds.optional(),
  /** From submission to settling. */
  seconds: z.number().optional(),
  commit_tx: Hash32.optional(),
})
export type ConsoleJob = z.output<typeof ConsoleJob>

/** Jobs, newest first. */
export const ConsoleJobs = named('ConsoleJobs', {
  jobs: z.array(ConsoleJob).max(100),
  next_cursor: z.string().nullable(),
})

/** One attempt at a seat. Node and verdict are set only once the job has settled. */
const ConsoleAssignment = named('ConsoleAssignment', {
  seat: z.int(),
  /** 0 for the quorum. A later batch has the seats that were added when no agreement was found, or whose nodes did not reveal. */
  batch: z.int(),
  role: Role,
  status: AssignmentStatus,
  reason: AssignmentReason.optional(),
  node: Address.optional(),
  verdict: Verdict.optional(),
  verdict_reason: VerdictReason.optional(),
  /** How likely the delivered text is under the node's model, by its own word. */
  attested: AttestedNumbers.optional(),
})

/** Whose answers match, without how far the others are apart. */
const ConsoleAgreement = AgreementView.extend({
  pairs: z.array(AnswerPair.omit({ why: true, similarities: true })),
}).meta({ id: 'ConsoleAgreement' })

/** A turn to deliver of a member of the agreement. */
const ConsoleDelivery = named('ConsoleDelivery', {
  node: Address,
  outcome: z.enum(['settled', 'failed', 'unfinished']),
  reason: DeliveryReason.optional(),
})

/** A job's list in numbers. Its members are secret. */
const ConsoleList = named('ConsoleList', {
  members: z.int(),
  /** How many answers have to match one another. */
  rule: AgreementRule,
  /** How many members were passed over, by reason. */
  passed: z.partialRecord(PassReason, z.int()),
})

/** An event of a job. */
export const ConsoleEvent = named('ConsoleEvent', {
  seq: z.int(),
  at: UnixSeconds,
  type: z.string().max(64),
  phase: JobPhase,
  seat: z.int().optional(),
  role: Role.optional(),
  node: Address.optional(),
  detail: z.string().max(128).optional(),
})
export type ConsoleEvent = z.output<typeof ConsoleEvent>

/** A job with its events. */
export const ConsoleJobDetail = named('ConsoleJobDetail', {
  job: ConsoleJob,
  assignments: z.array(ConsoleAssignment),
  /** Only once the job has settled. */
  agreement: ConsoleAgreement.optional(),
  /** In the order of their turns; empty until the job has settled. */
  deliveries: z.array(ConsoleDelivery),
  list: ConsoleList,
  timeline: z.array(ConsoleEvent),
  receipt_hash: Hash32.optional(),
})
export type ConsoleJobDetail = z.output<typeof ConsoleJobDetail>

/** A node with a certificate, and the reasons that it cannot be drawn, if any. */
export const ConsoleNode = named('ConsoleNode', {
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
  /** The weight in the draw, from the score and the doubt. */
  weight: z.int(),
  completed: z.int(),
  accepted: z.int(),
  rejected: z.int(),
  slashed_gwei: z.int(),
})
export type ConsoleNode = z.output<typeof ConsoleNode>

/** Nodes, by address. */
export const ConsoleNodes = named('ConsoleNodes', {
  nodes: z.array(ConsoleNode).max(200),
  next_cursor: z.string().nullable(),
})

/** The jobs that settled in one minute. */
export const ConsoleMinute = named('ConsoleMinute', {
  at: UnixSeconds,
  accepted: z.int(),
  /** Disputed or expired. */
  failed: z.int(),
  cancelled: z.int(),
  /** Seconds from submission to acceptance; left out when none was accepted. */
  median_seconds: z.number().optional(),
  p95_seconds: z.number().optional(),
})
export type ConsoleMinute = z.output<typeof ConsoleMinute>

/** The ICL at a glance. */
export const ConsoleOverview = named('ConsoleOverview', {
  at: UnixSeconds,
  version: z.string(),
  chain_id: z.int(),
  ready: z.boolean(),
  /** Problems. */
  reasons: z.array(z.string()),
  chain: z.object({ connected: z.boolean() }),
  store: z.object({ connected: z.boolean(), durable: z.boolean(), writable: z.boolean() }),
  /** Effects that the ICL has still to deliver; null when the store does not answer. */
  outbox: z.object({ waiting: z.int(), oldest_seconds: z.int() }).nullable(),
  /** Draws that wait for their turn in this process. */
  draws_waiting: z.int(),
  /** Null when the store does not answer. */
  jobs_by_phase: z.partialRecord(JobPhase, z.int()).nullable(),
  /** When the oldest job that waits for nodes was submitted; null when none waits. */
  waiting_since: UnixSeconds.nullable(),
  /** Requests that this process refused in the last hour for load, limits or lack of nodes, by code. */
  refused: z.record(z.string().max(64), z.int()),
  /** Null when the chain does not answer. */
  nodes: z.object({ certified: z.int(), active: z.int() }).nullable(),
  /** The last hour, oldest minute first; null when the store does not answer. */
  minutes: z.array(ConsoleMinute).max(61).nullable(),
  /** The time from which on `minutes` has every job. */
  minutes_since: UnixSeconds.nullable(),
})
export type ConsoleOverview = z.output<typeof ConsoleOverview>

/** An event of the stream: the overview, changed jobs, or that too many jobs changed to list them. */
export const ConsoleNews = z.discriminatedUnion('type', [
  z.object({ type: z.literal('overview'), overview: ConsoleOverview }),
  z.object({ type: z.literal('jobs'), jobs: z.array(ConsoleJob).max(100) }),
  z.object({ type: z.literal('reload') }),
])
export type ConsoleNews = z.output<typeof ConsoleNews>
