import { describe, expect, it } from 'vitest'
import type { Store } from '../../icl/store/store.ts'
import { codeOf } from '../code-of.ts'
import { claim, commitTo } from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { listedKey, submit } from './test-client.ts'
import { createShared, joinNode, modelId, type TestIcl, type TestNode } from './test-icl.ts'

const { start, pair } = useReplicas()

describe('news', () => {
  it('of work that one replica took in reaches a node that waits at another at once', async () => {
    const { a, b, clock, nodes } = await pair()
    const polls = nodes.map((node) =>
      at(b, node).api.getAssignments(
        { params: { address: node.address }, query: { wait: 30 } },
        { timeoutMs: 40_000 },
      ),
    )
    await clock.advance(1_000)
    const before = clock.now()
    await submit(a)
    for (const poll of polls) expect((await clock.until(poll)).assignments).toHaveLength(1)
    expect(clock.now() - before).toBeLessThan(700)
  })

  it('of the next step reaches a node that waits at another replica at once', async () => {
    const { a, b, clock, nodes } = await pair()
    const { jobId } = await submit(a)
    const [first, ...others] = nodes as [TestNode, ...TestNode[]]
    for (const node of [first, ...others.slice(1)]) await commitTo(node, await claim(node), 'yes')
    const claimed = await claim(others[0]!)
    const poll = at(b, first).api.getAssignment(
      { params: { jobId }, query: { wait: 20 } },
      { timeoutMs: 30_000 },
    )
    await clock.advance(1_000)
    const before = clock.now()
    await commitTo(others[0]!, claimed, 'yes')
    expect((await clock.until(poll)).step).toBe('reveal')
    expect(clock.now() - before).toBeLessThan(700)
  })

  it('of a job streams from a replica that does nothing for it', async () => {
    const { a, b, clock, nodes } = await pair()
    const job = await submit(a)
    const stream = await b
      .api(job.client.signer)
      .followJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
    const reader = stream.body!.getReader()
    const read = async () => new TextDecoder().decode((await clock.until(reader.read())).value)
    let text = ''
    while (!text.includes('"type":"offered"')) text += await read()
    // Read before it happens: the stream has to hear of it, not to come and look.
    const news = (async () => {
      text = ''
      while (!text.includes('"type":"claimed"')) text += await read()
    })()
    await clock.advance(1_000)
    const before = clock.now()
    await claim(nodes.find(({ address }) => address === job.leader)!)
    await clock.until(news)
    expect(clock.now() - before).toBeLessThan(300)
    await reader.cancel()
  })

  it('costs the store the same however many wait, and nothing while nobody does', async () => {
    const shared = createShared()
    const counts: Record<string, number> = {}
    const counted = new Proxy(shared.store, {
      get: (target, name) => {
        counts[String(name)] = (counts[String(name)] ?? 0) + 1
        return Reflect.get(target, name)
      },
    }) as Store
    const icl = await start(shared, 'a', { store: counted })
    const node = await joinNode(icl, 'n1')
    const readsIn = async (ms: number) => {
      for (const name of Object.keys(counts)) delete counts[name]
      await shared.clock.advance(ms)
      const { listChanges = 0, listJobsOfNode = 0, findJob = 0 } = counts
      return { listChanges, looks: listJobsOfNode + findJob }
    }
    expect(await readsIn(10_000)).toEqual({ listChanges: 0, looks: 0 })
    const wait = () =>
      node.api.getAssignments(
        { params: { address: node.address }, query: { wait: 30 } },
        { timeoutMs: 40_000 },
      )
    const polls = Array.from({ length: 30 }, wait)
    await shared.clock.advance(1_000)
    const many = await readsIn(10_000)
    expect(many.listChanges).toBeLessThanOrEqual(41)
    expect(many.listChanges).toBeGreaterThanOrEqual(39)
    expect(many.looks).toBe(0)
    await shared.clock.until(Promise.all(polls))
  })
})

describe('the pool that a replica remembers', () => {
  const preview = (icl: TestIcl) =>
    icl.api().previewQuorum({ query: { model_id: modelId, min_tier: 0, verifier_count: 2 } })

  const count = async (icl: TestIcl) =>
    (await icl.api().getActiveNodes({ query: { min_tier: 0 } })).nodes.length

  it('is read once a second, however many ask for a preview', async () => {
    const { a, store, clock } = await pair()
    let reads = 0
    const { listNodes } = store
    Object.assign(store, {
      listNodes: (now: number) => {
        reads += 1
        return listNodes(now)
      },
    })
    for (let second = 0; second < 3; second++) {
      for (let count = 0; count < 20; count++) await preview(a)
      await clock.advance(1_000)
    }
    expect(reads).toBeLessThanOrEqual(4)
  })

  it('is read no more than three times a second, when many ask for what nobody serves', async () => {
    const { a, store, clock } = await pair()
    let reads = 0
    const { listNodes } = store
    Object.assign(store, {
      listNodes: (now: number) => {
        reads += 1
        return listNodes(now)
      },
    })
    const query = { model_id: 'openai:none', min_tier: 0, verifier_count: 2 }
    for (let count = 0; count < 100; count++) {
      expect(await codeOf(a.api().previewQuorum({ query }))).toBe('not-enough-serving')
      await clock.advance(10)
    }
    expect(reads).toBeLessThanOrEqual(4)
  })

  it('seats nobody first who has just left at another replica', async () => {
    const { a, b, clock, nodes } = await pair()
    nodes.push(await joinNode(a, 'n4'))
    await clock.advance(1_000)
    const key = await listedKey(b)
    const leader = nodes.find(({ address }) => address === key.leader)!
    await leader.api.postHeartbeat({
      body: {
        operator_address: leader.address,
        timestamp: Math.floor(clock.now() / 1000) + 1,
        version: '0.0.0',
        free_slots: 2,
        supported_model_ids: [modelId],
        final: true,
      },
    })
    const { body } = await key.api.drawList({ body: key.request })
    expect(body.list).toEqual(key.list.body.list)
    expect(body.passed).toMatchObject([{ position: 0, reason: 'leaving' }])
    expect((await listedKey(b)).first).not.toContain(leader.address)
  })

  it('has at once who joined here, and within a second who joined elsewhere', async () => {
    const { a, b, clock } = await pair()
    expect([await count(a), await count(b)]).toEqual([3, 3])
    await joinNode(a, 'n4')
    expect(await count(a)).toBe(4)
    await clock.advance(1_000)
    expect(await count(b)).toBe(4)
  })

  it('does not hold what it saved itself against what another has saved since', async () => {
    const { a, b, clock, nodes } = await pair()
    await clock.advance(1_000)
    const [node] = nodes
    const final = (replica: TestIcl, isFinal: boolean, ahead: number) =>
      at(replica, node!).api.postHeartbeat({
        body: {
          operator_address: node!.address,
          timestamp: Math.floor(clock.now() / 1000) + ahead,
          version: '0.0.0',
          free_slots: 2,
          supported_model_ids: [modelId],
          final: isFinal,
        },
      })
    await final(a, true, 1)
    await final(b, false, 2)
    expect(await count(a)).toBe(3)
  })
})
