import type { OperationId } from '../../lib/endpoints.ts'

/** What is done to each endpoint. */
export const attempts = [
  'unsigned',
  'wrong key',
  'expired',
  "another's",
  'replayed',
  'malformed',
  'over-size',
] as const
export type Attempt = (typeof attempts)[number]
type Row = Readonly<Record<Attempt, string>>

const row = (...cells: readonly [string, string, string, string, string, string, string]): Row =>
  Object.fromEntries(attempts.map((attempt, index) => [attempt, cells[index] ?? ''])) as Row

// Nobody has to sign: signatures are not even looked at.
const open = row('200', '200', '200', '-', '200', '422 invalid-query', '414 uri-too-long')
// Its path names something.
const named = { ...open, malformed: '400 invalid-request' }

// It is not there for these callers.
const closed = row(
  '404 not-found',
  '404 not-found',
  '404 not-found',
  '-',
  '404 not-found',
  '422 invalid-query',
  '414 uri-too-long',
)

const signed = (anothers: string, replayed: string, overSize = '413 body-too-large') =>
  row(
    '401 signature-missing',
    '401 signature-invalid',
    '401 signature-stale',
    anothers,
    replayed,
    '400 invalid-request',
    overSize,
  )
const reading = (anothers: string, replayed: string) =>
  signed(anothers, replayed, '414 uri-too-long')

/** What must come of it, for every endpoint: one without a row does not compile. `-` where the attempt has no meaning. */
export const expected: Readonly<Record<OperationId, Row>> = {
  getHealth: open,
  getLiveness: open,
  getReadiness: open,
  getMetrics: row(
    '401 token-invalid',
    '401 token-invalid',
    '-',
    '-',
    '200',
    '422 invalid-query',
    '414 uri-too-long',
  ),
  getOpenApi: open,
  getDocs: open,
  getDocsScript: open,
  getNetwork: open,
  getJwks: open,
  getActiveNodes: open,
  getNode: named,
  getNodeEvents: named,
  getNodeFaults: named,
  getModels: open,
  getPools: open,
  previewQuorum: open,
  getBlob: named,
  getChallenge: named,
  // Only a node of this machine sees it, at an ICL for development.
  getMockKey: closed,
  getConsole: open,
  getConsoleOverview: open,
  getConsoleNodes: open,
  getConsoleJobs: open,
  getConsoleJob: named,
  followConsole: open,
  drawList: signed('409 key-unknown', '401 nonce-reused'),
  submitJob: signed('400 list-refused', '401 nonce-reused'),
  // Another client sees its own jobs: none.
  listJobs: { ...reading('200', '401 nonce-reused'), malformed: '422 invalid-query' },
  getJob: reading('404 job-not-found', '401 nonce-reused'),
  followJob: reading('404 job-not-found', '401 nonce-reused'),
  getReceipt: reading('404 job-not-found', '401 nonce-reused'),
  getRecord: reading('404 job-not-found', '401 nonce-reused'),
  cancelJob: signed('404 job-not-found', '401 nonce-reused', '414 uri-too-long'),
  putBlob: { ...signed('409 key-unknown', '401 nonce-reused'), malformed: '400 blob-invalid' },
  enrollTpm: signed('403 forbidden', '401 nonce-reused'),
  verifyAttestation: signed('403 forbidden', '401 nonce-reused'),
  releaseTpm: signed('403 forbidden', '401 nonce-reused'),
  // A node's requests change nothing when they come again within their minute.
  postHeartbeat: signed('403 forbidden', '200'),
  getAssignments: reading('403 forbidden', '200'),
  claimAssignment: signed('403 not-assigned', '200'),
  commitAssignment: signed('403 not-assigned', '200'),
  getAssignment: reading('403 not-assigned', '200'),
  revealAnswer: signed('403 not-assigned', '200'),
  postResult: signed('403 not-assigned', '200'),
  postVerdict: signed('403 not-assigned', '200'),
  // This job asks for no numbers.
  showAnswer: signed('403 not-assigned', '409 too-early'),
  weighAnswers: signed('403 not-assigned', '409 too-early'),
  openNumbers: signed('403 not-assigned', '409 not-committed'),
  abortAssignment: signed('403 not-assigned', '200'),
  abortTurn: signed('403 not-assigned', '200'),
}
