import { z } from 'zod'
import {
  Address,
  Hash32,
  JobId,
  ModelId,
  ModelTier,
  NextCursor,
  RetryAfter,
  UnixSeconds,
  Visible,
} from '../codecs.ts'
import { named, signedByIcl } from './named.ts'
import { ModelTakes, PromptPart } from './prompt-needs.ts'

/** How a node proves its identity: by an HMAC, for development, or by a TPM 2.0 quote. */
export const AttestationBackend = z.enum(['mock', 'tpm'])
export type AttestationBackend = z.output<typeof AttestationBackend>

/** One entry of the active pool. */
export const ActiveNode = named('ActiveNode', {
  operator_address: Address,
  model_tiers: z.array(ModelTier).max(256),
  supported_model_ids: z.array(ModelId).max(64),
  reputation_score: z.int(),
  last_heartbeat: UnixSeconds,
  attestation: z.object({ backend: AttestationBackend, expires_at: UnixSeconds }),
})

/** A node's record (spec 2.2). */
export const NodeRecord = named('NodeRecord', {
  operator_address: Address,
  model_tiers: z.array(ModelTier).max(256),
  active: z.boolean(),
  metrics: z.object({
    tasks_completed: z.int(),
    tasks_accepted: z.int(),
    tasks_rejected: z.int(),
    reputation_score: z.int(),
    total_slash_amount: z.int().describe('In gwei, which JSON numbers carry exactly'),
    last_heartbeat: UnixSeconds,
  }),
  /**
   * What the draw makes of the events: the weight, the weights of all active nodes together, and the doubt in thousandths of a natural
   * logarithm. Nodes with the same models are first on a list with chances in proportion to their weights.
   */
  draw: z.object({ weight: z.int(), pool_weight: z.int(), doubt_millinats: z.int() }).optional(),
})

/** A reputation event of a node, which the ICL signs. docs/protocol.md has the codes and their worth. */
export const ReputationStatement = named('ReputationStatement', {
  statement: z.literal('svc-reputation-v2'),
  id: Visible(256),
  address: Address,
  jobId: JobId,
  code: Visible(64),
  at: UnixSeconds,
  /** For `slashed`: what the node lost. */
  amount_gwei: z.int().min(0).optional(),
  /** Whose daily allowance it uses. All clients share one until 7 days after their first accepted job. */
  client: z.union([Address, z.literal('newcomers')]).optional(),
  /** For gains: SHA-256 of the canonical JSON of the sorted addresses of the agreement's other members. */
  partners: Hash32.optional(),
  /** The same partners already brought the node a gain on this UTC day. */
  again: z.literal(true).optional(),
})
export type ReputationStatement = z.output<typeof ReputationStatement>

/** A node's reputation events, newest first, each signed by one of the ICL's published keys. */
export const ReputationEvents = named('ReputationEvents', {
  events: z.array(z.object(signedByIcl(ReputationStatement))).max(100),
  next_cursor: NextCursor,
})

/** The models that active nodes serve. */
export const Models = named('Models', {
  models: z
    .array(
      z.object({
        model_id: ModelId,
        /** How many offer it now. */
        nodes: z.int(),
        /** How many more serve it, and do not offer it for now: their providers limit or refuse them. */
        withdrawn: z.int().optional(),
        /** How many of them take each part of a prompt document; parts that none takes are left out. */
        takes: z.partialRecord(PromptPart, z.int()).optional(),
      }),
    )
    .max(10_000),
})

/** Why a node does not offer a model that it serves. */
export const WithdrawalReason = z.enum([
  'provider-rate-limited',
  'provider-quota-used-up',
  'provider-key-refused',
  'provider-model-unknown',
])
export type WithdrawalReason = z.output<typeof WithdrawalReason>

/** A node's sign of life (spec 8: every 60 s). */
export const Heartbeat = named('Heartbeat', {
  operator_address: Address,
  timestamp: UnixSeconds.describe(
    'By the clock of the node. A heartbeat that is no later than the last is ignored',
  ),
  version: z
    .string()
    .max(64)
    .meta({ examples: ['0.1.0'] }),
  free_slots: z
    .int()
    .min(0)
    .max(64)
    .describe('Jobs that it takes besides those that it has claimed'),
  supported_model_ids: z.array(ModelId).max(64),
  model_takes: z
    .array(ModelTakes)
    .max(64)
    .optional()
    .describe('What it takes for each model; of one left out, a short conversation'),
  withdrawn: z
    .array(
      z.object({
        model_id: ModelId,
        reason: WithdrawalReason,
        retry_after: RetryAfter.optional().describe('The seconds until it offers the model again'),
      }),
    )
    .max(64)
    .optional()
    .describe('The models that it serves, but does not offer until a heartbeat leaves them out'),
  supported_comparators: z
    .array(z.string().max(32))
    .max(16)
    .optional()
    .describe('`exact` and `similar/2` when left out; unknown names are passed over'),
  final: z.boolean().optional().describe('The node stops, and takes no more work'),
})

/** Why a node gets no jobs. The node's log has a remedy for each. */
export const IneligibleReason = z.enum([
  'not-registered',
  'chain-inactive',
  'stake-unbonding',
  'no-model',
  'no-comparator',
  'no-tier',
  'no-recent-poll',
  'no-free-slot',
  'leaving',
  'certificate-expired',
  'no-heartbeat',
  'chain-unavailable',
])
export type IneligibleReason = z.output<typeof IneligibleReason>

/** The ICL's answer to a heartbeat, and whether the node can get jobs. */
export const HeartbeatResponse = named('HeartbeatResponse', {
  status: z.enum(['ok', 'ignored']),
  certificate_expires_at: UnixSeconds,
  eligible: z.boolean(),
  reasons: z.array(IneligibleReason).max(IneligibleReason.options.length),
})
