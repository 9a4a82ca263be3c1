import { z } from 'zod'
import { Address, Base64Url, Cid, JobId, ModelId, ModelTier } from './codecs.ts'
import { defineEndpoint, eventStream, rawBytes } from './endpoint.ts'
import { AttestationAnswer, AttestationRequest, Challenge } from './schemas/attestation.ts'
import {
  JobView,
  QuorumPreview,
  QuorumPreviewQuery,
  SubmitJob,
  SubmittedJob,
} from './schemas/jobs.ts'
import { Health, JsonWebKeySet, Network, Readiness } from './schemas/network.ts'
import { ActiveNode, Heartbeat, HeartbeatAnswer, Models, NodeRecord } from './schemas/nodes.ts'
import { Receipt } from './schemas/receipt.ts'
import {
  AbortTask,
  Assignments,
  ClaimResult,
  ClaimTask,
  CommitTask,
  TaskAnswer,
  TaskResult,
  TaskVerdict,
  TaskView,
} from './schemas/tasks.ts'

const AddressPath = z.object({ address: Address })
const JobPath = z.object({ jobId: JobId })
const Wait = z.object({
  wait: z.coerce.number<string>().pipe(z.int().min(0).max(30)).default(0),
})

const signatureProblems = [
  'signature-missing',
  'signature-invalid',
  'signature-stale',
  'nonce-reused',
] as const
const nodeProblems = [
  'signature-missing',
  'signature-invalid',
  'signature-stale',
  'not-attested',
  'certificate-expired',
  'certificate-superseded',
  'forbidden',
] as const
const slotProblems = [
  ...nodeProblems,
  'job-not-found',
  'not-assigned',
  'stale-fence',
  'job-settled',
] as const
const bodyProblems = ['invalid-request', 'body-too-large', 'unsupported-media-type'] as const

/** Every HTTP operation of the ICL (spec 4): the server mounts this table, the typed client calls it, OpenAPI renders it. */
export const endpoints = {
  getHealth: defineEndpoint({
    method: 'GET',
    path: '/health',
    summary: 'How the ICL is',
    auth: 'none',
    response: Health,
    problems: [],
  }),
  getLiveness: defineEndpoint({
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process answers',
    auth: 'none',
    response: z.object({ status: z.literal('ok') }),
    problems: [],
  }),
  getReadiness: defineEndpoint({
    method: 'GET',
    path: '/readyz',
    summary: 'Whether to send traffic here, and what is degraded',
    auth: 'none',
    response: Readiness,
    problems: ['unavailable'],
  }),
  getNetwork: defineEndpoint({
    method: 'GET',
    path: '/v1/network',
    summary: 'Chain, contracts and limits of this deployment',
    auth: 'none',
    response: Network,
    problems: [],
  }),
  getJwks: defineEndpoint({
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: "The ICL's public signing keys",
    auth: 'none',
    response: JsonWebKeySet,
    problems: [],
  }),
  getActiveNodes: defineEndpoint({
    method: 'GET',
    path: '/v1/nodes/active',
    summary: 'The active pool',
    auth: 'none',
    query: z.object({
      model_id: ModelId.optional(),
      min_tier: z.coerce.number<string>().pipe(ModelTier).default(0),
      cursor: Base64Url(64).optional(),
    }),
    response: z.object({ nodes: z.array(ActiveNode), next_cursor: z.string().nullable() }),
    problems: ['invalid-request', 'chain-unavailable'],
  }),
  getNode: defineEndpoint({
    method: 'GET',
    path: '/v1/nodes/{address}',
    summary: "One node's record",
    auth: 'none',
    params: AddressPath,
    response: NodeRecord,
    problems: ['invalid-request', 'node-not-found', 'chain-unavailable'],
  }),
  getModels: defineEndpoint({
    method: 'GET',
    path: '/v1/models',
    summary: 'The models served now',
    auth: 'none',
    response: Models,
    problems: ['chain-unavailable'],
  }),
  previewQuorum: defineEndpoint({
    method: 'GET',
    path: '/v1/inference/quorum-preview',
    summary: 'A quorum for a job, and the token that makes the job use it',
    auth: 'none',
    query: QuorumPreviewQuery,
    response: QuorumPreview,
    problems: ['invalid-request', 'not-enough-nodes', 'chain-unavailable'],
  }),
  submitJob: defineEndpoint({
    method: 'POST',
    path: '/v1/inference',
    summary: 'Submit a job; the same submission again finds the same job',
    auth: 'client',
    body: SubmitJob,
    response: SubmittedJob,
    problems: [
      ...bodyProblems,
      ...signatureProblems,
      'preview-invalid',
      'preview-stale',
      'job-conflict',
      'not-key-owner',
      'too-many-jobs',
      'chain-unavailable',
    ],
  }),
  getJob: defineEndpoint({
    method: 'GET',
    path: '/v1/inference/{jobId}',
    summary: "A job's state, for its client",
    auth: 'client-or-read-token',
    params: JobPath,
    response: JobView,
    problems: ['invalid-request', ...signatureProblems, 'job-not-found'],
  }),
  followJob: defineEndpoint({
    method: 'GET',
    path: '/v1/inference/{jobId}/events',
    summary: "A job's events as they happen (SSE, resumed by Last-Event-ID)",
    auth: 'client-or-read-token',
    params: JobPath,
    response: eventStream,
    problems: ['invalid-request', ...signatureProblems, 'job-not-found'],
  }),
  getReceipt: defineEndpoint({
    method: 'GET',
    path: '/v1/inference/{jobId}/receipt',
    summary: 'Who agreed on the answer of an accepted job',
    auth: 'client-or-read-token',
    params: JobPath,
    response: Receipt,
    problems: ['invalid-request', ...signatureProblems, 'job-not-found', 'receipt-not-ready'],
  }),
  cancelJob: defineEndpoint({
    method: 'POST',
    path: '/v1/inference/{jobId}/cancel',
    summary: 'Cancel a job that has not settled',
    auth: 'client-or-read-token',
    params: JobPath,
    response: JobView,
    problems: ['invalid-request', ...signatureProblems, 'job-not-found', 'job-settled'],
  }),
  putBlob: defineEndpoint({
    method: 'POST',
    path: '/v1/blobs',
    summary: 'Store an encrypted blob of at most 1 MiB',
    auth: 'client-or-node',
    body: rawBytes,
    response: z.object({ cid: Cid }),
    problems: [
      'blob-invalid',
      'body-too-large',
      'unsupported-media-type',
      ...signatureProblems,
      'not-attested',
      'certificate-expired',
      'certificate-superseded',
    ],
  }),
  getBlob: defineEndpoint({
    method: 'GET',
    path: '/ipfs/{cid}',
    summary: 'An encrypted blob by its content identifier',
    auth: 'none',
    params: z.object({ cid: Cid }),
    response: rawBytes,
    problems: ['invalid-request', 'blob-not-found'],
  }),
  getChallenge: defineEndpoint({
    method: 'GET',
    path: '/internal/challenge/{address}',
    summary: 'A nonce for one attestation (300 s, one use)',
    auth: 'none',
    params: AddressPath,
    response: Challenge,
    problems: ['invalid-request'],
  }),
  verifyAttestation: defineEndpoint({
    method: 'POST',
    path: '/internal/attestation/verify',
    summary: 'Attest a node and bind its session key to its wallet',
    auth: 'wallet',
    body: AttestationRequest,
    response: AttestationAnswer,
    problems: [
      ...bodyProblems,
      ...signatureProblems,
      'forbidden',
      'challenge-invalid',
      'challenge-expired',
      'challenge-used',
      'attestation-backend-refused',
      'attestation-hmac-invalid',
      'session-signature-invalid',
    ],
  }),
  postHeartbeat: defineEndpoint({
    method: 'POST',
    path: '/internal/heartbeat',
    summary: "A node's sign of life",
    auth: 'node',
    body: Heartbeat,
    response: HeartbeatAnswer,
    problems: [...bodyProblems, ...nodeProblems],
  }),
  getAssignments: defineEndpoint({
    method: 'GET',
    path: '/internal/assignments/{address}',
    summary: 'Work offered to a node; `wait` holds the request until there is some',
    auth: 'node',
    params: AddressPath,
    query: Wait,
    response: Assignments,
    problems: ['invalid-request', ...nodeProblems],
  }),
  claimTask: defineEndpoint({
    method: 'POST',
    path: '/internal/task/claim',
    summary: 'Take an assignment and get the key handles',
    auth: 'node',
    body: ClaimTask,
    response: ClaimResult,
    problems: [...bodyProblems, ...slotProblems],
  }),
  commitTask: defineEndpoint({
    method: 'POST',
    path: '/internal/task/commit',
    summary: "Commit to a verifier's evidence before seeing the leader's",
    auth: 'node',
    body: CommitTask,
    response: TaskAnswer,
    problems: [...bodyProblems, ...slotProblems, 'wrong-role', 'not-claimed', 'already-committed'],
  }),
  getTask: defineEndpoint({
    method: 'GET',
    path: '/internal/task/{jobId}',
    summary: "The caller's own part in a job; `wait` holds until it may compare",
    auth: 'node',
    params: JobPath,
    query: Wait,
    response: TaskView,
    problems: ['invalid-request', ...nodeProblems, 'job-not-found', 'not-assigned'],
  }),
  postResult: defineEndpoint({
    method: 'POST',
    path: '/internal/task/result',
    summary: "The leader's result",
    auth: 'node',
    body: TaskResult,
    response: TaskAnswer,
    problems: [
      ...bodyProblems,
      ...slotProblems,
      'wrong-role',
      'not-claimed',
      'already-answered',
      'evidence-invalid',
      'statement-mismatch',
      'statement-signature-invalid',
      'output-key-unreadable',
      'chain-unavailable',
    ],
  }),
  postVerdict: defineEndpoint({
    method: 'POST',
    path: '/internal/task/verify',
    summary: "A verifier's verdict",
    auth: 'node',
    body: TaskVerdict,
    response: TaskAnswer,
    problems: [
      ...bodyProblems,
      ...slotProblems,
      'wrong-role',
      'not-committed',
      'no-result-yet',
      'already-answered',
      'evidence-invalid',
      'commitment-mismatch',
      'statement-mismatch',
      'statement-signature-invalid',
    ],
  }),
  abortTask: defineEndpoint({
    method: 'POST',
    path: '/internal/task/abort',
    summary: 'Give an assignment back',
    auth: 'node',
    body: AbortTask,
    response: TaskAnswer,
    problems: [...bodyProblems, ...slotProblems],
  }),
} as const

/** The name of an operation, in the table and as OpenAPI's operationId. */
export type OperationId = keyof typeof endpoints

/** Problems that any operation may answer with. */
export const commonProblems = ['rate-limited', 'internal-error', 'unavailable'] as const

/** The most a JSON body may hold. */
export const maxBodyBytes = 256 * 1024
/** The most a blob may hold: one raw IPFS block. */
export const maxBlobBytes = 1024 * 1024
