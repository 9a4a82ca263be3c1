import { z } from 'zod'
import { BlockNumber, Cid, JobId, QueryInt, Uint256 } from '../codecs.ts'
import { eventStream, get, post, rawBytes } from '../endpoint.ts'
import { JobList, JobListQuery, JobView, SubmitJob, SubmittedJob } from '../schemas/jobs.ts'
import { DrawnList, ListRequest, QuorumPreview, QuorumPreviewQuery } from '../schemas/list.ts'
import { Receipt } from '../schemas/receipt.ts'
import { JobRecord } from '../schemas/record.ts'
import { bodyProblems, Cursor, JobPath, readerProblems, signatureProblems } from './parts.ts'

/** What a blob is stored for: a wallet's stored key of its prompt, or a node's turn to deliver. */
const BlobQuery = z
  .object({
    kpHighHandle: Uint256.optional().describe('With the next two: the stored key of the prompt'),
    kpLowHandle: Uint256.optional(),
    block_number: BlockNumber.optional().describe('The block that stored the key'),
    jobId: JobId.optional().describe('With fence: the turn to deliver of a node'),
    fence: QueryInt(1, 1_000_000).optional(),
  })
  .meta({ example: { kpHighHandle: '1000', kpLowHandle: '1001', block_number: '1000' } })

/** Operations on jobs, for their clients, and on their blobs. */
export const clientEndpoints = {
  previewQuorum: get('/v1/inference/quorum-preview', 'none', {
    summary: 'The pool that a list would be drawn from now',
    query: QuorumPreviewQuery,
    response: QuorumPreview,
    problems: [
      'invalid-request',
      'not-enough-nodes',
      'not-enough-serving',
      'model-limited',
      'model-withdrawn',
      'chain-unavailable',
    ],
  }),
  drawList: post('/v1/inference/list', 'client', {
    summary:
      'The list of a stored prompt key, once its draw has its turn: the same whenever it is asked for, but for who is passed over. `wait` holds the request until then',
    body: ListRequest,
    response: DrawnList,
    problems: [
      ...bodyProblems,
      ...signatureProblems,
      'client-not-allowed',
      'key-unknown',
      'terms-refused',
      'key-expired',
      'draw-queued',
      'too-many-jobs',
      'not-enough-nodes',
      'not-enough-serving',
      'model-limited',
      'model-withdrawn',
      'chain-unavailable',
    ],
  }),
  submitJob: post('/v1/inference', 'client', {
    summary: 'Submit a job. The same submission again finds the same job',
    body: SubmitJob,
    response: SubmittedJob,
    problems: [
      ...bodyProblems,
      ...signatureProblems,
      'list-refused',
      'key-unknown',
      'key-used',
      'webhooks-off',
      'webhook-refused',
      'job-conflict',
      'too-many-jobs',
      'quota-exceeded',
      'client-not-allowed',
      'chain-unavailable',
    ],
  }),
  listJobs: get('/v1/inference', 'client', {
    summary: "The caller's own jobs, newest first, 50 a page",
    query: JobListQuery.extend({ cursor: Cursor.optional() }),
    response: JobList,
    problems: ['invalid-request', ...signatureProblems],
  }),
  getJob: get('/v1/inference/{jobId}', 'client-or-read-token', {
    summary: "A job's state, for its client",
    params: JobPath,
    response: JobView,
    problems: ['invalid-request', ...readerProblems, 'job-not-found'],
  }),
  followJob: get('/v1/inference/{jobId}/events', 'client-or-read-token', {
    summary: "A job's events as they happen (SSE, resumed by Last-Event-ID)",
    params: JobPath,
    response: eventStream,
    problems: ['invalid-request', ...readerProblems, 'job-not-found'],
  }),
  getReceipt: get('/v1/inference/{jobId}/receipt', 'client-or-read-token', {
    summary: 'Who agreed on the answer of an accepted job',
    params: JobPath,
    response: Receipt,
    problems: ['invalid-request', ...readerProblems, 'job-not-found', 'receipt-not-ready'],
  }),
  getRecord: get('/v1/inference/{jobId}/record', 'client-or-read-token', {
    summary:
      'Everything that happened in a job: signed statements, verdicts, the list, scores, faults',
    params: JobPath,
    response: JobRecord,
    problems: ['invalid-request', ...readerProblems, 'job-not-found'],
  }),
  cancelJob: post('/v1/inference/{jobId}/cancel', 'client-or-read-token', {
    summary: 'Cancel a job to whose answer no node has committed',
    params: JobPath,
    response: JobView,
    problems: [
      'invalid-request',
      ...readerProblems,
      'job-not-found',
      'job-settled',
      'too-late-to-cancel',
    ],
  }),
  putBlob: post('/v1/blobs', 'client-or-node', {
    summary:
      'Store an encrypted blob of at most 1 MiB: the prompt of a stored key, or the output of the node that delivers, in its turn',
    query: BlobQuery,
    body: rawBytes,
    response: z.object({ cid: Cid }),
    problems: [
      ...bodyProblems,
      ...signatureProblems,
      'blob-invalid',
      'client-not-allowed',
      'key-unknown',
      'key-expired',
      'chain-unavailable',
      'not-attested',
      'certificate-expired',
      'run-superseded',
      'run-conflict',
      'job-not-found',
      'not-assigned',
      'stale-fence',
      'job-settled',
      'not-your-turn',
      'not-claimed',
      'too-many-blobs',
    ],
  }),
  getBlob: get('/ipfs/{cid}', 'none', {
    summary: 'An encrypted blob by its content identifier',
    params: z.object({ cid: Cid }),
    response: rawBytes,
    hasEtag: true,
    problems: ['invalid-request', 'blob-not-found'],
  }),
} as const
