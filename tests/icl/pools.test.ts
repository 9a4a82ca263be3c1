import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { noPool } from '../../icl/admin/context.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import { previewQuorum } from '../../icl/operations/preview-quorum.ts'
import { createPool } from '../../icl/pool/pool.ts'
import { banNode } from '../../icl/records/bans.ts'
import { ended } from '../../icl/rules/eligibility.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import { codeOf } from '../code-of.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { useReplicas } from './replica-set.ts'
import { runJob } from './run-job.ts'
import { listedKey } from './test-client.ts'
import {
  beat,
  beThere,
  createShared,
  createTestIcl,
  heartbeatOf,
  joinNode,
  joinNodes,
  modelId,
  origin,
  type TestIcl,
} from './test-icl.ts'

const { start, pair } = useReplicas()

const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
const preview = (icl: TestIcl) => icl.api().previewQuorum({ query })
const cidOf = async (icl: TestIcl) => (await preview(icl)).pool_cid
const listed = async (icl: TestIcl) => (await icl.api().getPools({})).pools
const nodesOf = async (icl: TestIcl, cid: string) =>
  (await readPool(cid, (part) => icl.api().getBlob({ params: { cid: part } }))).nodes

it('the pool lacks a node at once that another process of the file has banned', async () => {
  const { a, clock, nodes } = await pair()
  await inEmptyFolder(async (folder) => {
    const file = join(folder, 'icl.db')
    const store = await openSqliteStore(file)
    for (const { address } of nodes) {
      const found = await a.deps.store.findNode(address)
      if (found) await store.save({ kind: 'node', node: found.document, base: 0 })
    }
    const pool = createPool({ store, chain: a.deps.chain, clock })
    expect(await pool.nodes()).toHaveLength(3)
    const guest = await openSqliteStore(file, { guest: true })
    await banNode({ store: guest, clock, pool: noPool }, nodes[0]!.address, 'it lies')
    // As the background workers do four times a second.
    await store.listDue('effect', 0, 1)
    expect(await pool.nodes()).toHaveLength(2)
    await Promise.all([guest.close(), store.close()])
  })
})

it('the pool has its nodes by address, also those that join later, and leaves out ended certificates', async () => {
  const icl = await createTestIcl()
  await joinNodes(icl, 4)
  const { pool } = icl.deps
  const addresses = async () => (await pool.nodes()).map(({ node }) => node.address)
  expect(await addresses()).toHaveLength(4)
  await joinNodes(icl, 6, 10)
  const all = await addresses()
  expect(all).toHaveLength(10)
  expect(all).toEqual(all.toSorted())
  const third = (await icl.deps.store.findNode(all[2]!))!.document
  pool.note({ ...third, certificate: ended(third.certificate) })
  expect(await addresses()).toEqual(all.toSpliced(2, 1))
  pool.note(third)
  expect(await addresses()).toEqual(all)
  await icl.stop()
})

it('models are counted once for all who ask within a second, and anew after a failure', async () => {
  const icl = await createTestIcl()
  await joinNodes(icl, 3)
  const { nodes } = icl.deps.pool
  let reads = 0
  Object.assign(icl.deps.pool, {
    nodes: async () => {
      reads += 1
      if (reads === 1) throw new TypeError('The chain does not answer')
      return nodes()
    },
  })
  const ask = () => icl.fetch(new Request(`${origin}/v1/models`))
  const countOf = async () => (await (await ask()).json()).models[0].nodes
  expect((await ask()).status).toBe(500)
  for (let time = 0; time < 5; time++) expect(await countOf()).toBe(3)
  expect(reads).toBe(2)
  await joinNodes(icl, 1, 10)
  await icl.clock.advance(1_000)
  expect(await countOf()).toBe(4)
  expect(reads).toBe(3)
  await icl.stop()
})

describe('the published pool', () => {
  it('has every active node, busy or not, with what it can be drawn for', async () => {
    const { a, clock, nodes } = await pair()
    await clock.advance(1_000)
    await beat(a, nodes[0]!, 0)
    const { pool_cid, ...counts } = await preview(a)
    expect(counts).toEqual({
      ...{ model_id: modelId, comparator: 'exact' },
      ...{ nodes: 3, free_nodes: 2, draws_waiting: 0, prompt_room_bytes: 4 * 2 ** 20 },
    })
    const published = await nodesOf(a, pool_cid)
    expect(published.map(({ address }) => address)).toEqual(
      nodes.map(({ address }) => address).toSorted(),
    )
    for (const { tiers, models, comparators } of published) {
      expect([tiers, models, comparators]).toEqual([[0], [modelId], ['exact', 'similar/2']])
    }
  })

  it('is counted anew for a request when the count of another failed', async () => {
    const { a, clock } = await pair()
    await preview(a)
    await clock.advance(2_000)
    const busy = () => Promise.reject(new Error('The time of this request is over'))
    const failing = { ...a.deps, pool: { ...a.deps.pool, busy } }
    const wish = { ...query, model_id: modelId, min_tier: 0 as const }
    const both = [failing, a.deps].map((deps) => previewQuorum(deps, wish, 0))
    const ends = await Promise.allSettled(both)
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })

  it('is drawn from under an offer, which the receipt shows', async () => {
    const { a, nodes } = await pair()
    const offer = { input: 5n, output: 2n ** 90n, delivery: 0n }
    const { jobId, job, view } = await runJob(a, nodes, ['yes', 'yes', 'yes'], { offer })
    expect(await view()).toMatchObject({ status: 'accepted' })
    const { readToken } = job
    const receipt = await job.api.getReceipt({ params: { jobId } }, { readToken })
    expect(receipt.list.terms.offer).toEqual(offer)
  })

  it('is not sent again to a caller that has it', async () => {
    const { a } = await pair()
    const cid = await cidOf(a)
    const get = (headers: HeadersInit) =>
      a.fetch(new Request(new URL(`/ipfs/${cid}`, origin), { headers }))
    const first = await get({})
    expect([first.status, first.headers.get('etag')]).toEqual([200, `"${cid}"`])
    for (const tags of [`"${cid}"`, `"x", W/"${cid}"`, '*']) {
      const again = await get({ 'if-none-match': tags })
      expect([again.status, await again.text()]).toEqual([304, ''])
      expect(again.headers.get('cache-control')).toContain('immutable')
    }
    expect((await get({ 'if-none-match': '"x"' })).status).toBe(200)
  })

  it('stays for 30 s, is shared by the replicas, and is listed for an hour with its time', async () => {
    const { a, b, clock } = await pair()
    const began = Math.floor(clock.now() / 1000)
    const first = await cidOf(a)
    await joinNode(a, 'n4')
    await clock.advance(20_000)
    expect(await cidOf(b)).toBe(first)
    await clock.advance(10_000)
    const second = await cidOf(a)
    expect(second).not.toBe(first)
    expect(await nodesOf(b, second)).toHaveLength(4)
    await clock.advance(20_000)
    expect(await cidOf(b)).toBe(second)
    const pools = await listed(b)
    expect(pools.map(({ pool_cid }) => pool_cid)).toEqual([second, first])
    expect(pools[1]).toEqual({ pool_cid: first, from: began, until: began + 50 })
    expect(pools[0]).toMatchObject({ from: began + 30, until: began + 80 })
    await clock.jump(3_660_000)
    expect(await listed(a)).toEqual([])
  })

  it('leaves out parts of prompts that the ICL does not know', async () => {
    const { a, clock, nodes } = await pair()
    await clock.advance(1_000)
    for (const [at, parts] of [[], ['of a later version']].entries()) {
      const { address, api } = nodes[at]!
      const model_takes = [{ model_id: modelId, parts }]
      await api.postHeartbeat({ body: { ...heartbeatOf(address, clock), model_takes } })
    }
    await clock.advance(31_000)
    const published = await nodesOf(a, await cidOf(a))
    expect(published.map(({ takes }) => takes)).toEqual([undefined, undefined, undefined])
  })

  it('takes new weights over after 10 minutes, or with a node that joins', async () => {
    const { a, clock, nodes } = await pair()
    const raise = async () => {
      const { document, version } = (await a.deps.store.findNode(nodes[0]!.address))!
      const standing = { ...document.standing, score: document.standing.score + 1 }
      const node = { ...document, standing }
      await a.deps.store.save({ kind: 'node', node, base: version })
    }
    let last = ''
    const after = async (ms: number) => {
      for (let left = ms; left > 0; left -= 30_000) {
        await clock.advance(30_000)
        await beThere(a, nodes)
        last = await cidOf(a)
      }
      return last
    }
    const first = await cidOf(a)
    await raise()
    expect(await after(570_000)).toBe(first)
    const second = await after(30_000)
    expect(second).not.toBe(first)
    await raise()
    expect(await after(60_000)).toBe(second)
    await joinNode(a, 'n4')
    const weights = (await nodesOf(a, await after(30_000))).map(({ weight }) => weight)
    expect(Math.max(...weights)).toBe(Math.min(...weights) + 2)
  })

  it('that comes back later is listed a second time, not for the time between', async () => {
    const { a, clock, nodes } = await pair()
    const began = Math.floor(clock.now() / 1000)
    const first = await cidOf(a)
    await clock.advance(600_000)
    for (const node of nodes) {
      await beat(a, node)
      await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
    }
    expect(await cidOf(a)).toBe(first)
    expect((await listed(a)).map(({ from, until }) => [from - began, until - began])).toEqual([
      [600, 630],
      [0, 30],
    ])
  })

  it('is replaced at once when it has too few nodes and another has enough', async () => {
    const shared = createShared()
    const icl = await start(shared, 'a')
    for (const name of ['n1', 'n2']) await joinNode(icl, name)
    expect(await codeOf(preview(icl))).toBe('not-enough-nodes')
    await joinNode(icl, 'n3')
    expect(await preview(icl)).toMatchObject({ nodes: 3 })
    expect((await listedKey(icl)).list.body.list).toHaveLength(3)
  })

  it('is the last one while there is no room for another', async () => {
    const shared = createShared()
    const blobs = createStoredBlobs(shared.store, 8 * 1024 * 1024, shared.clock)
    const room = { ...blobs }
    const icl = await start(shared, 'a', { blobs: room })
    for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
    const first = await cidOf(icl)
    room.put = async () => false
    await joinNode(icl, 'n4')
    await shared.clock.advance(30_000)
    expect(await cidOf(icl)).toBe(first)
    expect((await listedKey(icl)).list.body.list).toHaveLength(3)
    room.put = blobs.put
    await shared.clock.advance(30_000)
    expect(await nodesOf(icl, await cidOf(icl))).toHaveLength(4)
  })

  it('cannot be had without room for any, and the caller is told', async () => {
    const shared = createShared()
    const blobs = createStoredBlobs(shared.store, 8 * 1024 * 1024, shared.clock)
    const icl = await start(shared, 'a', { blobs: { ...blobs, put: async () => false } })
    for (const name of ['n1', 'n2', 'n3']) await joinNode(icl, name)
    expect(await codeOf(preview(icl))).toBe('unavailable')
  })

  it('is kept as long as the receipts of the jobs that were drawn from it, and else for two hours', async () => {
    const { a, clock, nodes } = await pair()
    const { job } = await runJob(a, nodes, ['yes', 'yes', 'yes'])
    const used = job.terms.pool_cid
    await clock.advance(30_000)
    await joinNode(a, 'n4')
    const unused = await cidOf(a)
    expect(await nodesOf(a, unused)).toHaveLength(4)
    await clock.jump(3 * 3_600_000)
    await clock.advance(120_000)
    expect(await nodesOf(a, used)).toHaveLength(3)
    expect(await codeOf(nodesOf(a, unused))).toBe('blob-not-found')
    await clock.jump(29 * 86_400_000)
    await clock.advance(120_000)
    expect(await nodesOf(a, used)).toHaveLength(3)
  })
})
