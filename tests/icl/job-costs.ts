import { createApp } from '../../icl/app.ts'
import { scoreNode } from '../../icl/background/score-node.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { changeJob, loadJob } from '../../icl/operations/change-job.ts'
import { replacePool } from '../../icl/operations/publish-pool.ts'
import type { Store } from '../../icl/store/store.ts'
import { createApi } from '../../lib/api.ts'
import { cidOf } from '../../lib/cid.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { claim, commitTo, deliveryOf, ownAssignment, reveal, verdictOf } from './node-steps.ts'
import { delivererOf } from './run-job.ts'
import { listedKey, storedKey, submissionOf, submit } from './test-client.ts'
import { beat, joinNodes, origin, type TestIcl, type TestNode } from './test-icl.ts'

/** What a command costs, measured while `work` carries it out. */
type Measure<Cost> = (work: () => Promise<unknown>) => Promise<Cost>

/** A second way into an ICL, over `store`: what is asked for on it is not what the background does. */
function secondWay(of: TestIcl, store: Store) {
  const blobs = createStoredBlobs(store, 8 * 1024 * 1024, of.clock)
  const deps: Dependencies = { ...of.deps, store, blobs }
  const app = createApp(deps)
  const { clock } = of
  const fetch = async (request: Request) => app.fetch(request)
  const api = (signer?: RequestSigner) =>
    createApi({ baseUrl: origin, fetch, clock, random: systemRandom, ...(signer && { signer }) })
  return { deps, api, node: (n: TestNode) => ({ ...n, api: api(n.signer) }) }
}

/** Carries out one job over `store`, which is the ICL's, or counts before it; gives what each of its commands cost. */
export async function jobCosts<Cost>(
  icl: TestIcl,
  store: Store,
  during: Measure<Cost>,
): Promise<Readonly<Record<string, Cost>>> {
  const nodes = await joinNodes(icl, 3)
  const way = secondWay(icl, store)
  const own = new Map(nodes.map((node) => [node.address, way.node(node)]))
  const [first] = [...own.values()] as [TestNode]
  const cost: Record<string, Cost> = {}

  await icl.clock.advance(2_000)
  cost.heartbeat = await during(() => beat(icl, first, 3))
  const key = await listedKey(icl)
  const wallet = way.api(key.client.signer)
  const upload = { query: storedKey(icl, 'client'), body: new Uint8Array(32).fill(1) }
  cost.upload = await during(() => wallet.putBlob(upload))
  const promptCid = await cidOf(upload.body)
  const { body, commit, jobId } = submissionOf(icl, key, { promptCid })
  commit()
  cost.submission = await during(() => wallet.submitJob({ body }))
  cost['repeated submission'] = await during(() => wallet.submitJob({ body }))
  await icl.clock.advance(300)

  for (const node of own.values()) {
    let claimed: Awaited<ReturnType<typeof claim>> | undefined
    cost.claim = await during(async () => {
      claimed = await claim(node, jobId)
    })
    cost.commit = await during(() => commitTo(node, claimed!, 'x'))
  }
  for (const node of own.values()) cost.reveal = await during(() => reveal(node, jobId))
  const deliverer = (await delivererOf([...own.values()], jobId))!
  const delivery = await deliveryOf(icl, deliverer, jobId)
  const until = icl.clock.now() + 60_000
  await icl.deps.blobs.put(delivery.output_cid, upload.body, { uploader: 'node', until })
  cost.delivery = await during(() => deliverer.api.postResult({ body: delivery }))
  const other = await deliveryOf(icl, deliverer, jobId)
  cost.contradiction = await during(() => codeOf(deliverer.api.postResult({ body: other })))
  const checkers = [...own.values()].filter((node) => node !== deliverer)
  for (const checker of checkers) {
    const post = await verdictOf(checker, jobId)
    cost.verdict = await during(() => checker.api.postVerdict({ body: post }))
  }
  cost['own assignment'] = await during(() => ownAssignment(first, jobId))

  const settled = await loadJob(icl.deps, jobId)
  if (settled.phase !== 'accepted') throw new Error(`The job is ${settled.phase}`)
  const partners = [nodes[1]!.address]
  const gain = { node: first.address, fence: 99, code: 'answer-agreed', partners } as const
  cost.score = await during(() => scoreNode(way.deps, settled, gain))
  // Nobody has access yet: its effects stay.
  const waiting = await submit(icl, { client: 'another', commit: false })
  const [pending] = (await loadJob(icl.deps, waiting.jobId)).outbox
  const tried = { done: false } as const
  const news = { type: 'effect-tried', effectId: pending!.id, tried } as const
  cost.effect = await during(() => changeJob(way.deps, waiting.jobId, news))
  cost.pool = await during(() => replacePool(way.deps))
  return cost
}
