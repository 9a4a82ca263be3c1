import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { scoreNode } from '../../icl/background/score-node.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { changeJob, loadJob } from '../../icl/operations/change-job.ts'
import { replacePool } from '../../icl/operations/publish-pool.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import { createApi } from '../../lib/api.ts'
import { cidOf } from '../../lib/cid.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { claim, commitTo, deliveryOf, ownAssignment, reveal, verdictOf } from './node-steps.ts'
import { delivererOf } from './run-job.ts'
import { listedKey, storedKey, submissionOf, submit } from './test-client.ts'
import { beat, createTestIcl, joinNodes, origin, type TestIcl, type TestNode } from './test-icl.ts'

/*
 * A save is one transaction in sqlite and one step in memory. On a server that speaks MongoDB's protocol it is one command for
 * each of its writes. So each line below is what a command costs: its saves one after the other, and the writes of each. What is
 * refused costs nothing here, because it changes nothing.
 */

let icl: TestIcl
beforeAll(async () => {
  icl = await createTestIcl()
})
afterAll(() => icl.stop())

/** A store that tells of each save, by the kinds of its writes, and whether it was refused. */
function telling<T extends Store>(store: T, note: (what: string, isRefused: boolean) => void): T {
  const whatOf = (writes: readonly Write[]) => writes.map(({ kind }) => kind).join(' + ')
  return Object.assign(Object.create(store) as T, {
    save: async (...args: Parameters<Store['save']>) => {
      const isSaved = await store.save(...args)
      note(whatOf([args[0]]), !isSaved)
      return isSaved
    },
    saveAll: async (...args: Parameters<Store['saveAll']>) => {
      const refused = await store.saveAll(...args)
      note(whatOf(args[0]), refused !== undefined)
      return refused
    },
  })
}

/** A second way into the same ICL: what is asked for on it is counted, and nothing that the background does. */
function countedWay(of: TestIcl) {
  const saves: string[] = []
  const counting = telling(of.deps.store, (what, isRefused) => {
    if (!isRefused) saves.push(what)
  })
  const blobs = createStoredBlobs(counting, 8 * 1024 * 1024, of.clock)
  const deps: Dependencies = { ...of.deps, store: counting, blobs }
  const app = createApp(deps)
  const { clock } = of
  const fetch = async (request: Request) => app.fetch(request)
  const api = (signer?: RequestSigner) =>
    createApi({ baseUrl: origin, fetch, clock, random: systemRandom, ...(signer && { signer }) })
  const during = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    saves.length = 0
    await work()
    return [...saves]
  }
  return {
    deps,
    during,
    icl: { ...of, api },
    node: (n: TestNode) => ({ ...n, api: api(n.signer) }),
  }
}

describe('the saves of a command', () => {
  it('are one for each, besides the nonce of a wallet, and blobs before what names them', async () => {
    const nodes = await joinNodes(icl, 3)
    const way = countedWay(icl)
    const own = new Map(nodes.map((node) => [node.address, way.node(node)]))
    const [first] = [...own.values()] as [TestNode]
    const cost: Record<string, readonly string[]> = {}

    await icl.clock.advance(2_000)
    cost.heartbeat = await way.during(() => beat(icl, first, 3))
    const key = await listedKey(icl)
    const wallet = way.icl.api(key.client.signer)
    const upload = { query: storedKey(icl, 'client'), body: new Uint8Array(32) }
    cost.upload = await way.during(() => wallet.putBlob(upload))
    const promptCid = await cidOf(upload.body)
    const { body, commit, jobId } = submissionOf(icl, key, { promptCid })
    commit()
    cost.submission = await way.during(() => wallet.submitJob({ body }))
    cost['repeated submission'] = await way.during(() => wallet.submitJob({ body }))
    await icl.clock.advance(300)

    for (const node of own.values()) {
      let claimed: Awaited<ReturnType<typeof claim>> | undefined
      cost.claim = await way.during(async () => {
        claimed = await claim(node, jobId)
      })
      cost.commit = await way.during(() => commitTo(node, claimed!, 'x'))
    }
    for (const node of own.values()) cost.reveal = await way.during(() => reveal(node, jobId))
    const deliverer = (await delivererOf([...own.values()], jobId))!
    const delivery = await deliveryOf(icl, deliverer, jobId)
    const until = icl.clock.now() + 60_000
    await icl.deps.blobs.put(delivery.output_cid, upload.body, { uploader: 'node', until })
    cost.delivery = await way.during(() => deliverer.api.postResult({ body: delivery }))
    const other = await deliveryOf(icl, deliverer, jobId)
    cost.contradiction = await way.during(() => codeOf(deliverer.api.postResult({ body: other })))
    const checkers = [...own.values()].filter((node) => node !== deliverer)
    for (const checker of checkers) {
      const post = await verdictOf(checker, jobId)
      cost.verdict = await way.during(() => checker.api.postVerdict({ body: post }))
    }
    cost['own assignment'] = await way.during(() => ownAssignment(first, jobId))

    const settled = await loadJob(icl.deps, jobId)
    expect(settled.phase).toBe('accepted')
    const partners = [nodes[1]!.address]
    const gain = { node: first.address, fence: 99, code: 'answer-agreed', partners } as const
    cost.score = await way.during(() => scoreNode(way.deps, settled, gain))
    // Nobody has access yet: its effects stay.
    const waiting = await submit(icl, { client: 'another', commit: false })
    const [pending] = (await loadJob(icl.deps, waiting.jobId)).outbox
    const tried = { done: false } as const
    const news = { type: 'effect-tried', effectId: pending!.id, tried } as const
    cost.effect = await way.during(() => changeJob(way.deps, waiting.jobId, news))
    cost.pool = await way.during(() => replacePool(way.deps))

    expect(cost).toEqual({
      heartbeat: ['node'],
      upload: ['key', 'key', 'blob'],
      submission: ['key', 'key + key + keep-blob + keep-blob + job'],
      'repeated submission': ['key'],
      claim: ['job'],
      commit: ['job'],
      reveal: ['job'],
      delivery: ['keep-blob + job'],
      contradiction: ['job'],
      verdict: ['job'],
      'own assignment': [],
      score: ['key + event + node'],
      effect: ['job'],
      pool: ['blob', 'key + key'],
    })
  })
})

it('are none in vain in a whole job, whatever nodes and background do at once', async () => {
  const saves: string[] = []
  const refused: string[] = []
  const store = telling(createMemoryStore(), (what, isRefused) => {
    ;(isRefused ? refused : saves).push(what)
  })
  const own = await createTestIcl({ store })
  const nodes = await joinNodes(own, 3)
  await own.clock.advance(2_000)
  const key = await listedKey(own)
  const prompt = { query: storedKey(own, 'client'), body: new Uint8Array(32) }
  const { cid: promptCid } = await own.api(key.client.signer).putBlob(prompt)
  const { body, commit, jobId } = submissionOf(own, key, { promptCid })
  commit()
  saves.length = 0
  refused.length = 0

  await own.api(key.client.signer).submitJob({ body })
  await own.clock.advance(300)
  const claimed = await Promise.all(nodes.map((node) => claim(node, jobId)))
  await Promise.all(nodes.map((node, index) => commitTo(node, claimed[index]!, 'x')))
  await Promise.all(nodes.map((node) => reveal(node, jobId)))
  const deliverer = (await delivererOf(nodes, jobId))!
  const delivery = await deliveryOf(own, deliverer, jobId)
  const until = own.clock.now() + 60_000
  await own.deps.blobs.put(delivery.output_cid, prompt.body, { uploader: 'node', until })
  await deliverer.api.postResult({ body: delivery })
  const checkers = nodes.filter((node) => node !== deliverer)
  const verdicts = await Promise.all(checkers.map((checker) => verdictOf(checker, jobId)))
  await Promise.all(
    checkers.map((checker, index) => checker.api.postVerdict({ body: verdicts[index]! })),
  )
  await own.clock.advance(2_000)
  const job = await loadJob(own.deps, jobId)
  await own.stop()

  expect([job.phase, job.outbox, job.commitTx !== undefined]).toEqual(['accepted', [], true])
  // Whether a blob is there already is found out by keeping it.
  expect(refused.filter((what) => what !== 'keep-blob')).toEqual([])
  expect(saves.filter((what) => what.endsWith('job'))).toHaveLength(16)
})
