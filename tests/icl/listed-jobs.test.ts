import { describe, expect, it } from 'vitest'
import { deriveKeys, signStatement } from '../../icl/records/icl-keys.ts'
import type { JsonWebKeySet } from '../../lib/schemas/network.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { statementBytes } from '../../lib/statements.ts'
import { aHash } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { claim, commitTo, deliver, offersOf, reveal } from './node-steps.ts'
import { at, useReplicas } from './replica-set.ts'
import { checkAll, delivererOf } from './run-job.ts'
import { listedKey, submissionOf, submit } from './test-client.ts'
import { beat, beThere, joinNodes, modelId, type TestIcl, type TestNode } from './test-icl.ts'

const { start, pair } = useReplicas()

/** Two replicas with so many nodes. */
async function world(count: number) {
  const { nodes, ...shared } = await pair()
  nodes.push(...(await joinNodes(shared.a, count - 3, 4)))
  const nodeAt = (address: string | undefined) => nodes.find((node) => node.address === address)!
  return { ...shared, nodes, nodeAt }
}

type Submitted = Awaited<ReturnType<typeof submit>>
const viewOf = ({ api, jobId, readToken }: Submitted) =>
  api.getJob({ params: { jobId } }, { readToken })

const leave = (icl: TestIcl, node: TestNode) =>
  node.api.postHeartbeat({
    body: {
      operator_address: node.address,
      timestamp: Math.floor(icl.clock.now() / 1000) + 1,
      version: '0.0.0',
      free_slots: 2,
      supported_model_ids: [modelId],
      final: true,
    },
  })

const giveBack = async (node: TestNode) => {
  const { jobId, fence } = await claim(node)
  await node.api.abortAssignment({ body: { jobId, fence, reason: 'provider-key-refused' } })
}

describe('a submission', () => {
  it('takes its key for one job, also when two come at the same time to two replicas', async () => {
    const { a, b } = await world(3)
    const key = await listedKey(a)
    const { body } = submissionOf(a, key)
    const other = { ...body, client_nonce: body.client_nonce + 1n }
    const outcomes = await Promise.all(
      [a, b].map((icl, index) =>
        codeOf(icl.api(key.client.signer).submitJob({ body: index === 0 ? body : other })),
      ),
    )
    expect(outcomes.toSorted()).toEqual(['key-used', undefined])
    const { jobs } = await key.api.listJobs({ query: {} })
    expect(jobs).toHaveLength(1)
  })

  it('finds its job again with the list signed anew', async () => {
    const { a, b, clock } = await world(3)
    const job = await submit(a)
    await clock.advance(5_000)
    const list = await job.api.drawList({ body: job.request })
    expect(list.body.at).toBeGreaterThan(job.list.body.at)
    const again = await b.api(job.client.signer).submitJob({ body: { ...job.body, list } })
    expect(again.jobId).toBe(job.jobId)
  })

  it('needs a list that the ICL signed, for this key, client and model, within ten minutes', async () => {
    const { a, clock, nodes } = await world(3)
    const key = await listedKey(a)
    const { body } = submissionOf(a, key)
    const tried = (change: Partial<typeof body>) =>
      codeOf(key.api.submitJob({ body: { ...body, ...change } }))
    const { list } = body
    const forger = await signingKeyFromSeed(new Uint8Array(32).fill(66))
    const forged = {
      body: list.body,
      key: forger.publicKey,
      signature: await forger.sign(statementBytes(list.body)),
    }
    const reversed = { ...list, body: { ...list.body, list: list.body.list.toReversed() } }
    const other = await listedKey(a)
    const stranger = await listedKey(a, { client: 'stranger' })
    for (const change of [
      { list: forged },
      { list: reversed },
      { list: other.list },
      { list: { ...list, signature: other.list.signature } },
      { list: stranger.list },
      { model_id: 'openai:other' },
    ]) {
      expect(await tried(change)).toBe('list-refused')
    }
    expect(await tried({ until: body.until - 700 })).toBe('invalid-request')
    await clock.jump(601_000)
    await beThere(a, nodes)
    const until = body.until + 601
    expect(await tried({ until })).toBe('list-refused')
    const fresh = await key.api.drawList({ body: key.request })
    expect(await tried({ until, list: fresh })).toBeUndefined()
  })

  it('may bring a list that another process of the ICL signed', async () => {
    const { a } = await world(3)
    const key = await listedKey(a)
    const { body } = submissionOf(a, key)
    const { at } = body.list.body
    const list = await signStatement(a.deps.keys, { ...body.list.body, at: at - 1 })
    expect(await codeOf(key.api.submitJob({ body: { ...body, list } }))).toBeUndefined()
  })

  it('may bring a list that an earlier key of the ICL signed, as long as that is published', async () => {
    const { a, store, chain, clock } = await world(3)
    const key = await listedKey(a)
    const { body } = submissionOf(a, key)
    const old = a.deps.keys
    const { tally, jwks } = await deriveKeys(new Uint8Array(32).fill(2))
    const submitTo = async (name: string, published: readonly JsonWebKeySet[]) => {
      const keys = { ...old, tally, jwks: { keys: published.flatMap((set) => set.keys) } }
      const icl = await start({ store, chain, clock }, name, { keys })
      return codeOf(icl.api(key.client.signer).submitJob({ body }))
    }
    expect(await submitTo('withdrawn', [jwks])).toBe('list-refused')
    expect(await submitTo('rotated', [jwks, old.jwks])).toBeUndefined()
  })

  it('is refused when the key has moved to another block', async () => {
    const { a, chain } = await world(3)
    const key = await listedKey(a)
    const { body } = submissionOf(a, key)
    const name = `${key.highHandle}:${key.lowHandle}`
    const stored = chain.keys.get(name)!
    const block = { ...stored.block, hash: aHash(`0x${'d'.repeat(64)}`) }
    chain.keys.set(name, { ...stored, block })
    expect(await codeOf(key.api.submitJob({ body }))).toBe('key-unknown')
  })
})

describe('the members of a list', () => {
  it('are passed over by name and reason, and the first others are seated', async () => {
    const { a, clock, nodeAt } = await world(6)
    const before = await listedKey(a)
    const [first, second] = before.list.body.list.map(nodeAt)
    await clock.advance(1_000)
    await beat(a, first!, 0)
    await leave(a, second!)
    const list = await before.api.drawList({ body: before.request })
    expect(list.body.list).toEqual(before.list.body.list)
    expect(list.body.passed.map(({ position, reason }) => [position, reason])).toEqual([
      [0, 'busy'],
      [1, 'leaving'],
    ])
    const { body, commit } = submissionOf(a, { ...before, list, first: list.body.list.slice(2, 5) })
    commit()
    const { jobId, read_token: readToken } = await before.api.submitJob({ body })
    await clock.advance(500)
    const view = () => before.api.getJob({ params: { jobId } }, { readToken })
    expect((await view()).quorum.map(({ position }) => position)).toEqual([2, 3, 4])
    expect((await view()).list.passed).toEqual(list.body.passed)

    // Busy was no reason for good: it is the next to be seated once it has a place.
    await clock.advance(1_000)
    await beat(a, first!, 2)
    await giveBack(nodeAt(list.body.list[2]))
    await clock.advance(2_000)
    expect((await view()).quorum.at(-1)).toMatchObject({ position: 0, seat: 0, status: 'offered' })
  })

  it('are passed over by reason when a seat falls empty, too', async () => {
    const { a, clock, nodeAt } = await world(6)
    const job = await submit(a)
    const members = job.list.body.list.map(nodeAt)
    await leave(a, members[3]!)
    await clock.advance(1_100)
    await giveBack(nodeAt(job.leader))
    await clock.advance(2_000)
    const view = await viewOf(job)
    expect(view.quorum.at(-1)).toMatchObject({ position: 4, role: 'verifier', status: 'offered' })
    expect(view.list.passed).toMatchObject([{ position: 3, reason: 'leaving' }])
    const claimed = await claim(members[4]!)
    expect(claimed).toMatchObject({ position: 4, list: job.list.body.list, until: job.body.until })
  })

  it('are waited for when all are busy, and while each has another job to come, the draw waits', async () => {
    const { a, clock, nodes, nodeAt } = await world(3)
    await clock.advance(1_000)
    for (const node of nodes) await beat(a, node, 1)
    await submit(a)
    await clock.advance(1_000)
    const job = await submit(a)
    expect(await codeOf(submit(a))).toBe('draw-queued')
    expect(job.list.body.passed.map(({ reason }) => reason)).toEqual(['busy', 'busy', 'busy'])
    const positions = (await viewOf(job)).quorum.map(({ position }) => position)
    expect(positions).toEqual([0, 1, 2])
    await clock.advance(5_000)
    expect(await offersOf(nodeAt(job.leader))).toHaveLength(1)
    for (const node of nodes) await beat(a, node, 2)
    await clock.advance(2_000)
    for (const node of nodes) expect(await offersOf(node)).toHaveLength(2)
  })
})

describe('the commitment on chain', () => {
  it('that never comes leaves the job waiting until its deadline, with nothing offered', async () => {
    const { a, clock, nodes } = await world(3)
    const job = await submit(a, { commit: false })
    await clock.advance(300_000)
    expect(await viewOf(job)).toMatchObject({ status: 'open', reason: 'awaiting-grant' })
    for (const node of nodes) expect(await offersOf(node)).toEqual([])
    await clock.advance(301_000)
    expect(await viewOf(job)).toMatchObject({ status: 'expired', reason: 'awaiting-grant' })
  })

  it('costs the ICL no activation of a node that it names already, while an RPC server lags behind', async () => {
    const { a, clock, nodeAt } = await world(3)
    const job = await submit(a, { commit: false })
    job.commit()
    const key = `${job.highHandle}:${job.lowHandle}`
    a.chain.lists.set(key, { ...a.chain.lists.get(key)!, used: 0b111 })
    const readers = job.list.body.list.flatMap((node) =>
      [job.highHandle, job.lowHandle].map((handle) => `${handle}:${node}`),
    )
    for (const reader of readers) a.chain.readers.delete(reader)
    await clock.advance(5_000)
    expect(readers.filter((reader) => a.chain.readers.has(reader))).toEqual([])
    expect(await offersOf(nodeAt(job.leader))).toEqual([])
    for (const reader of readers) a.chain.readers.add(reader)
    await clock.advance(15_000)
    expect(await offersOf(nodeAt(job.leader))).toHaveLength(1)
  })

  it('to another list ends the job, even where its nodes may read', async () => {
    const { a, clock, chain, nodes } = await world(3)
    const job = await submit(a, { commit: false })
    const other = aHash(`0x${'e'.repeat(64)}`)
    chain.commitList(job.highHandle, job.lowHandle, other, job.first)
    await clock.advance(3_000)
    expect(await viewOf(job)).toMatchObject({ status: 'expired', reason: 'list-differs' })
    for (const node of nodes) expect(await offersOf(node)).toEqual([])
  })

  it('that its client ended lets seated nodes finish', async () => {
    const { a, b, clock, chain, nodeAt } = await world(4)
    const job = await submit(a)
    const name = `${job.highHandle}:${job.lowHandle}`
    chain.lists.set(name, { ...chain.lists.get(name)!, ended: true })
    const leader = nodeAt(job.leader)
    const others = job.verifiers.map(nodeAt)
    for (const node of [leader, ...others]) await commitTo(node, await claim(node), 'yes')
    const seated = [leader, ...others.map((node) => at(b, node))]
    for (const node of seated) await reveal(node, job.jobId)
    await deliver(a, (await delivererOf(seated, job.jobId))!, job.jobId)
    await checkAll(seated, job.jobId)
    await clock.advance(1_000)
    expect((await viewOf(job)).status).toBe('accepted')
  })

  it('that its client ended ends the job when it needs another node', async () => {
    const { a, clock, chain, nodeAt } = await world(4)
    const job = await submit(a)
    const name = `${job.highHandle}:${job.lowHandle}`
    chain.lists.set(name, { ...chain.lists.get(name)!, ended: true })
    await giveBack(nodeAt(job.leader))
    await clock.advance(2_000)
    expect(await viewOf(job)).toMatchObject({ status: 'expired', reason: 'list-ended' })
  })
})
