import { elapsedSince } from '../lib/clock.ts'
import type { Address, JobId } from '../lib/codecs.ts'
import { endpoints, type OperationId } from '../lib/endpoints.ts'
import { ProblemError } from '../lib/problem.ts'
import type { AssignmentState } from '../lib/schemas/assignments.ts'
import { cached } from './async/cached.ts'
import { createRecentJobs } from './console/recent-jobs.ts'
import type { Refusals } from './console/refusals.ts'
import { createViewers } from './console/viewers.ts'
import type { Dependencies } from './dependencies.ts'
import { openApiDocument } from './docs/openapi.ts'
import { type Caller, checkConsole } from './http/authenticate.ts'
import {
  type ConnectionLimit,
  createConnectionLimit,
  type Later,
  laterWithinLimit,
} from './http/connection-limit.ts'
import { followConsole } from './http/follow-console.ts'
import { followJob } from './http/follow-job.ts'
import type { Shown } from './http/front-page.ts'
import type { RequestContext, Serve } from './http/mount.ts'
import { consolePage, docsRoutes, openApiText, textResponse } from './http/text-response.ts'
import {
  claimAssignment,
  listAssignments,
  viewAssignmentState,
  withOffers,
} from './operations/assignments.ts'
import { attestNode, issueChallenge } from './operations/attest-node.ts'
import { changeJob, loadJob } from './operations/change-job.ts'
import { drawListOf } from './operations/draw-list.ts'
import { createDrawQueue, type DrawQueue, drawNameOf } from './operations/draw-queue.ts'
import { drawRoom } from './operations/draw-room.ts'
import { enrollTpm, releaseTpm } from './operations/enroll-tpm.ts'
import { listConsoleJobs, viewConsoleJob } from './operations/list-console-jobs.ts'
import { listConsoleNodes } from './operations/list-console-nodes.ts'
import { listJobs } from './operations/list-jobs.ts'
import { listNodeEvents, listNodeFaults } from './operations/list-node-events.ts'
import { receiptOf } from './operations/make-receipt.ts'
import { viewOwnAssignment, withNext } from './operations/own-assignment.ts'
import { countModels, previewQuorum } from './operations/preview-quorum.ts'
import { listPools } from './operations/publish-pool.ts'
import { putOutput, putPrompt } from './operations/put-blob.ts'
import { submitJob } from './operations/submit-job.ts'
import {
  takeAnswer,
  takeCommitment,
  takeDelivery,
  takeNumbers,
  takeShown,
  takeTurnAbort,
  takeVerdict,
  takeWeighed,
} from './operations/take-answer.ts'
import { takeHeartbeat } from './operations/take-heartbeat.ts'
import { viewJob } from './operations/view-job.ts'
import { viewMockKey } from './operations/view-mock-key.ts'
import { listActiveNodes, viewNode } from './operations/view-nodes.ts'
import { readGauges, viewOverview } from './operations/view-overview.ts'
import { viewRecord } from './operations/view-record.ts'
import type { Node } from './rules/eligibility.ts'
import type { Gauges } from './telemetry/metrics.ts'

const gaugesMs = 2_000
const overviewMs = 1_000

type Shared = Shown & { readonly refusals: Refusals }

/** One handler for each endpoint: a missing one does not compile. */
export type Routes = { [K in OperationId]: Serve<(typeof endpoints)[K]> }

/** Creates the handlers of all endpoints. Each request brings its own dependencies, with a log that names the request. */
export const createRoutes = (deps: Dependencies, shared: Shared): Routes => {
  const queue = createDrawQueue(deps, drawRoom(deps), (waitedMs) =>
    deps.metrics.turn(waitedMs / 1000),
  )
  return {
    ...statusRoutes(deps, shared, queue),
    ...publicRoutes,
    ...clientRoutes,
    ...drawRoutes(queue),
    ...nodeRoutes,
    ...heldRoutes(createConnectionLimit(deps.metrics), deps),
  }
}

const statusRoutes = (deps: Dependencies, shared: Shared, queue: DrawQueue) => {
  const gauges = cached(deps.clock, gaugesMs, () =>
    readGauges(deps, { probes: shared.probes, drawsWaiting: queue.size }),
  ).read
  return {
    ...aboutRoutes(deps, shared, gauges),
    ...consoleRoutes(deps, shared, gauges),
  }
}

const aboutRoutes = (
  deps: Dependencies,
  { probes, shown }: Shared,
  gauges: () => Promise<Gauges>,
) => {
  let made: ReturnType<typeof openApiDocument> | undefined
  // Made at the first request, because it would take a large part of the start.
  const document = () => {
    made ??= openApiDocument(deps.network.version, deps.network.public_url)
    return made
  }
  return {
    getHealth: () => probes.checkHealth(),
    getLiveness: () => ({ status: 'ok' }),
    getReadiness: () => probes.checkReadiness(),
    getMetrics: async () =>
      textResponse(endpoints.getMetrics, await deps.metrics.text(await gauges())),
    getOpenApi: openApiText(document),
    ...docsRoutes(document, deps.readDocsScript, shown),
    getNetwork: () => deps.network,
    getJwks: () => deps.keys.jwks,
  } satisfies Partial<Routes>
}

const consoleRoutes = (
  deps: Dependencies,
  { probes, refusals, shown }: Shared,
  gauges: () => Promise<Gauges>,
) => {
  const recent = createRecentJobs(deps)
  const viewers = createViewers(deps.metrics)
  const overview = cached(deps.clock, overviewMs, () =>
    viewOverview(deps, { probes, gauges, recent, refusals }),
  ).read
  return {
    getConsole: () => {
      checkConsole(deps)
      return consolePage(shown())
    },
    getConsoleOverview: () => overview(),
    getConsoleNodes: ({ query }, { deps }) => listConsoleNodes(deps, query.cursor),
    getConsoleJobs: ({ query }, { deps }) => listConsoleJobs(deps, query),
    getConsoleJob: ({ params }, { deps }) => viewConsoleJob(deps, recent, params.job),
    followConsole: (_, { deps, address, signal }) =>
      followConsole(deps, { overview, recent, viewers }, address, signal),
  } satisfies Partial<Routes>
}

const publicRoutes = {
  getActiveNodes: ({ query }, { deps }) =>
    listActiveNodes(deps, { modelId: query.model_id, minTier: query.min_tier }, query.cursor),
  getNode: ({ params }, { deps }) => viewNode(deps, params.address),
  getNodeEvents: ({ params, query }, { deps }) =>
    listNodeEvents(deps, params.address, query.cursor),
  getNodeFaults: ({ params, query }, { deps }) =>
    listNodeFaults(deps, params.address, query.cursor),
  getModels: async (_, { deps }) => ({ models: await countModels(deps) }),
  getPools: (_, { deps }) => listPools(deps),
  getChallenge: ({ params }, { deps }) => issueChallenge(deps, params.address),
  getBlob: async ({ params }, { signal, deps }) => {
    const blob = await deps.blobs.get(params.cid, signal)
    if (!blob) throw new ProblemError('blob-not-found', `No blob ${params.cid} is kept here`)
    return blob
  },
} satisfies Partial<Routes>

const clientRoutes = {
  listJobs: ({ query }, { caller, deps }) => listJobs(deps, walletOf(caller), query),
  getJob: async ({ params }, { caller, deps }) =>
    viewJob(await readJob(deps, params.jobId, caller)),
  getReceipt: async ({ params }, { caller, deps }) => {
    const job = await readJob(deps, params.jobId, caller)
    const receipt = receiptOf(job)
    if (receipt) return receipt
    throw new ProblemError('receipt-not-ready', `The job is ${job.phase}`)
  },
  getRecord: async ({ params }, { caller, deps }) =>
    viewRecord(deps, await readJob(deps, params.jobId, caller)),
  cancelJob: async ({ params }, { caller, deps }) => {
    await readJob(deps, params.jobId, caller)
    return viewJob(await changeJob(deps, params.jobId, { type: 'cancel' }))
  },
} satisfies Partial<Routes>

/** Handlers that check stored keys, and handlers from the draw to the submission of its job. */
const drawRoutes = (queue: DrawQueue) =>
  ({
    previewQuorum: ({ query }, { deps }) => previewQuorum(deps, query, queue.size),
    drawList: ({ body }, { caller, signal, deps }) =>
      drawListOf(deps, queue, walletOf(caller), body, signal),
    submitJob: async ({ body }, { caller, deps }) => {
      const submitted = await submitJob(deps, byWallet(caller), body)
      queue.submitted(drawNameOf(body), submitted.jobId)
      return submitted
    },
    putBlob: (input, { caller, signal, deps }) =>
      caller.kind === 'node'
        ? putOutput(deps, caller.address, input, signal)
        : putPrompt(deps, walletOf(caller), input, signal),
  }) satisfies Partial<Routes>

const nodeRoutes = {
  enrollTpm: ({ body }, { caller, deps }) => enrollTpm(deps, walletOf(caller), body),
  verifyAttestation: ({ body }, { caller, deps }) => attestNode(deps, byWallet(caller), body),
  getMockKey: (_, { deps, headers, peerAddress }) => viewMockKey(deps, headers, peerAddress),
  releaseTpm: ({ body }, { caller, deps }) =>
    releaseTpm(deps, walletOf(caller), body.operator_address),
  postHeartbeat: ({ body }, { caller, deps }) => takeHeartbeat(deps, nodeOf(caller).address, body),
  claimAssignment: ({ body }, { caller, deps }) =>
    claimAssignment(deps, nodeOf(caller).address, body),
  abortTurn: ({ body }, { caller, deps }) => takeTurnAbort(deps, nodeOf(caller), body),
  abortAssignment: async ({ body }, { caller, deps }) => {
    const { address: node } = nodeOf(caller)
    const { jobId, fence, reason, retry_after: retryAfter } = body
    const abort = { type: 'abort', node, fence, reason, retryAfter } as const
    return viewAssignmentState(await changeJob(deps, jobId, abort), node)
  },
} satisfies Partial<Routes>

const heldRoutes = (connections: ConnectionLimit, base: Dependencies) =>
  ({
    followJob: async ({ params }, { caller, headers, signal, deps }) => {
      await readJob(deps, params.jobId, caller)
      const last = Number(headers.get('last-event-id') ?? 0)
      const lastSeq = Number.isSafeInteger(last) ? last : 0
      return followJob(deps, params.jobId, lastSeq, signal, connections)
    },
    getAssignments: ({ params, query }, { caller, signal }) => {
      const { address } = nodeOf(caller)
      if (params.address !== address) {
        throw new ProblemError('forbidden', 'A node reads its own assignments only')
      }
      const waitMs = query.wait * 1000
      // Uses `base`, because the request's dependencies would stay in memory during the wait.
      return laterWithinLimit(connections, address, waitMs, () =>
        listAssignments(base, address, query.wait, signal),
      )
    },
    getAssignment: ({ params, query }, { caller, signal }) => {
      const { address } = nodeOf(caller)
      const waitMs = query.wait * 1000
      return laterWithinLimit(connections, address, waitMs, () => ({
        later: viewOwnAssignment(base, address, params.jobId, waitMs, signal),
      }))
    },
    ...stepRoutes(connections, base),
  }) satisfies Partial<Routes>

/** Handlers of what nodes post. The ICL can hold each response until the node's next step. */
function stepRoutes(connections: ConnectionLimit, base: Dependencies) {
  const stepping =
    <B, S extends AssignmentState>(take: (deps: Dependencies, node: Node, body: B) => Promise<S>) =>
    async (
      { query, body }: { readonly query: { readonly wait: number }; readonly body: B },
      { caller, signal, deps }: RequestContext,
    ): Promise<S | Later<S>> => {
      const node = nodeOf(caller)
      const begun = base.clock.monotonic()
      const state = await take(deps, node, body)
      // The time of `take`, which a slow chain may delay, counts as waiting: the caller waits no longer in all.
      const waitMs = Math.max(0, query.wait * 1000 - elapsedSince(base.clock, begun))
      // The post was taken, so it succeeds without a wait when there is no room for another connection.
      if (waitMs === 0 || connections.isFull(node.address))
        return withOffers(base, node.address, state)
      return laterWithinLimit(connections, node.address, waitMs, () => ({
        later: withNext(base, node.address, state, waitMs, signal).then((next) =>
          withOffers(base, node.address, next),
        ),
      }))
    }
  return {
    commitAssignment: stepping(takeCommitment),
    revealAnswer: stepping(takeAnswer),
    postResult: stepping(takeDelivery),
    postVerdict: stepping(takeVerdict),
    showAnswer: stepping(takeShown),
    weighAnswers: stepping(takeWeighed),
    openNumbers: stepping(takeNumbers),
  } satisfies Partial<Routes>
}

const walletOf = (caller: Caller): Address => byWallet(caller).address

function byWallet(caller: Caller) {
  if (caller.kind === 'wallet') return caller
  throw new ProblemError('signature-missing', 'A wallet must sign this request')
}

function nodeOf(caller: Caller) {
  if (caller.kind === 'node') return caller.node
  throw new ProblemError('signature-missing', 'A node must sign this request')
}

/** Loads a job for its client or a holder of its read token. Throws `job-not-found` for every other caller. */
async function readJob(deps: Dependencies, jobId: JobId, caller: Caller) {
  const job = await loadJob(deps, jobId)
  if (caller.kind === 'reader') return job
  if (caller.kind === 'wallet' && caller.address === job.client) return job
  throw new ProblemError('job-not-found', `There is no job ${jobId}`)
}
