import { cidOf } from '../lib/cid.ts'
import type { Address, JobId } from '../lib/codecs.ts'
import type { endpoints, OperationId } from '../lib/endpoints.ts'
import { ProblemError } from '../lib/problem.ts'
import type { Dependencies } from './dependencies.ts'
import type { Caller } from './http/authenticate.ts'
import { followJob } from './http/follow-job.ts'
import type { Serve } from './http/mount.ts'
import { attestNode, issueChallenge } from './operations/attest-node.ts'
import { changeJob, loadJob } from './operations/change-job.ts'
import { checkHealth, checkReadiness } from './operations/check-health.ts'
import { countModels, previewQuorum } from './operations/preview-quorum.ts'
import {
  answer,
  claimTask,
  listAssignments,
  takeResult,
  takeVerdict,
  viewTask,
} from './operations/run-task.ts'
import { submitJob } from './operations/submit-job.ts'
import { takeHeartbeat } from './operations/take-heartbeat.ts'
import { viewJob } from './operations/view-job.ts'
import { listActiveNodes, viewNode } from './operations/view-nodes.ts'

/** How long a blob is kept that no job names. */
const unusedBlobMs = 3_600_000

/** One way to serve each endpoint: a missing one does not compile. */
export type Routes = { [K in OperationId]: Serve<(typeof endpoints)[K]> }

/** How every endpoint is served. */
export const createRoutes = (deps: Dependencies): Routes => ({
  ...publicRoutes(deps),
  ...clientRoutes(deps),
  ...nodeRoutes(deps),
})

const publicRoutes = (deps: Dependencies) =>
  ({
    getHealth: () => checkHealth(deps),
    getLiveness: () => ({ status: 'ok' }),
    getReadiness: () => checkReadiness(deps),
    getNetwork: () => deps.network,
    getJwks: () => deps.keys.jwks,
    getActiveNodes: ({ query }) =>
      listActiveNodes(deps, { modelId: query.model_id, minTier: query.min_tier }, query.cursor),
    getNode: ({ params }) => viewNode(deps, params.address),
    getModels: async () => ({ models: await countModels(deps) }),
    previewQuorum: ({ query }) => previewQuorum(deps, query),
    getChallenge: ({ params }) => issueChallenge(deps, params.address),
    getBlob: async ({ params }) => {
      const blob = await deps.blobs.get(params.cid)
      if (!blob) throw new ProblemError('blob-not-found', `No blob ${params.cid} is kept here`)
      return blob
    },
    putBlob: async ({ body }, { caller }) => {
      if (body.length === 0) throw new ProblemError('blob-invalid', 'The blob is empty')
      const cid = await cidOf(body)
      const uploader = caller.kind === 'node' ? 'node' : 'wallet'
      const until = deps.clock.now() + unusedBlobMs
      if (await deps.blobs.put(cid, body, { uploader, until })) return { cid }
      throw new ProblemError('unavailable', 'There is no room for more blobs', {
        retryAfterSeconds: 30,
      })
    },
  }) satisfies Partial<Routes>

const clientRoutes = (deps: Dependencies) =>
  ({
    submitJob: ({ body }, { caller }) => submitJob(deps, walletOf(caller), body),
    getJob: async ({ params }, { caller }) => viewJob(await readJob(deps, params.jobId, caller)),
    followJob: async ({ params }, { caller, headers, signal }) => {
      await readJob(deps, params.jobId, caller)
      const lastSeq = Number(headers.get('last-event-id') ?? 0)
      return followJob(deps, params.jobId, Number.isSafeInteger(lastSeq) ? lastSeq : 0, signal)
    },
    getReceipt: async ({ params }, { caller }) => {
      const job = await readJob(deps, params.jobId, caller)
      if (job.receipt) return job.receipt
      throw new ProblemError('receipt-not-ready', `The job is ${job.phase}`)
    },
    cancelJob: async ({ params }, { caller }) => {
      await readJob(deps, params.jobId, caller)
      return viewJob(await changeJob(deps, params.jobId, { type: 'cancel' }))
    },
  }) satisfies Partial<Routes>

const nodeRoutes = (deps: Dependencies) =>
  ({
    verifyAttestation: ({ body }, { caller }) => attestNode(deps, walletOf(caller), body),
    postHeartbeat: ({ body }, { caller }) => takeHeartbeat(deps, nodeOf(caller).address, body),
    getAssignments: async ({ params, query }, { caller, signal }) => {
      const { address } = nodeOf(caller)
      if (params.address !== address) {
        throw new ProblemError('forbidden', 'A node reads its own assignments only')
      }
      return {
        assignments: await listAssignments(deps, address, query.wait * 1000, signal),
      }
    },
    claimTask: ({ body }, { caller }) => claimTask(deps, nodeOf(caller).address, body),
    commitTask: async ({ body }, { caller }) => {
      const { address: node } = nodeOf(caller)
      const { jobId, fence, commitment } = body
      return answer(await changeJob(deps, jobId, { type: 'commit', node, fence, commitment }), node)
    },
    getTask: ({ params, query }, { caller, signal }) =>
      viewTask(deps, nodeOf(caller).address, params.jobId, query.wait * 1000, signal),
    postResult: ({ body }, { caller }) => takeResult(deps, nodeOf(caller), body),
    postVerdict: ({ body }, { caller }) => takeVerdict(deps, nodeOf(caller), body),
    abortTask: async ({ body }, { caller }) => {
      const { address: node } = nodeOf(caller)
      const { jobId, fence, reason } = body
      return answer(await changeJob(deps, jobId, { type: 'abort', node, fence, reason }), node)
    },
  }) satisfies Partial<Routes>

function walletOf(caller: Caller): Address {
  if (caller.kind === 'wallet') return caller.address
  throw new ProblemError('signature-missing', 'A wallet must sign this request')
}

function nodeOf(caller: Caller) {
  if (caller.kind === 'node') return caller.node
  throw new ProblemError('signature-missing', 'A node must sign this request')
}

/** A job for its client or the holder of its read token; for everybody else it does not exist. */
async function readJob(deps: Dependencies, jobId: JobId, caller: Caller) {
  const job = await loadJob(deps, jobId)
  if (caller.kind === 'reader') return job
  if (caller.kind === 'wallet' && caller.address === job.client) return job
  throw new ProblemError('job-not-found', `There is no job ${jobId}`)
}
