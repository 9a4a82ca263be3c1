import { describe, expect, it } from 'vitest'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import { claim, commitTo, deliver, offersOf, reveal } from './node-steps.ts'
import { checkAll, delivererOf, runJob } from './run-job.ts'
import { submit } from './test-client.ts'
import { beat, joinNode, joinNodes, modelId, type TestNode } from './test-icl.ts'

freshIcl(3)

type Submitted = Awaited<ReturnType<typeof submit>>
const viewOf = (job: Submitted) =>
  job.api.getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
const spareOf = ({ first }: Submitted) => nodes.find(({ address }) => !first.includes(address))!

it('a pool of 50 works on a job with the first nodes of its list', async () => {
  nodes.push(...(await joinNodes(icl, 47, 4)))
  const job = await submit(icl)
  const quorum = [job.leader, ...job.verifiers]
  expect((await viewOf(job)).quorum.map(({ node }) => node)).toEqual(quorum)
  for (const node of nodes) {
    expect(await offersOf(node)).toHaveLength(quorum.includes(node.address) ? 1 : 0)
  }
})

it('a replacement waits until the coordinator has activated it, and continues then', async () => {
  nodes.push(await joinNode(icl, 'n4'))
  const job = await submit(icl)
  const spare = spareOf(job)
  const { activate } = icl.chain
  icl.chain.activate = () => Promise.reject(new Error('the chain is busy'))
  const others = job.verifiers.map(nodeAt)
  for (const node of others) await commitTo(node, await claim(node), 'yes')
  const leader = nodeAt(job.leader)
  const { jobId, fence } = await claim(leader)
  await leader.api.abortAssignment({ body: { jobId, fence, reason: 'provider-refused' } })
  await icl.clock.advance(5_000)
  expect((await viewOf(job)).quorum.at(-1)).toMatchObject({
    node: spare.address,
    position: 3,
    status: 'awaiting-grant',
  })
  expect(await offersOf(spare)).toEqual([])
  icl.chain.activate = activate
  await icl.clock.advance(10_000)
  expect((await viewOf(job)).reason).toBeUndefined()
  await commitTo(spare, await claim(spare), 'yes')
  const seated = [spare, ...others]
  for (const node of seated) await reveal(node, jobId)
  await deliver(icl, (await delivererOf(seated, jobId))!, jobId)
  await checkAll(seated, jobId)
  expect((await viewOf(job)).status).toBe('accepted')
})

it('a node that fills up before it is offered its seat is offered no more than it takes when many jobs may begin at the same moment', async () => {
  await icl.clock.advance(1_000)
  for (const node of nodes) await beat(icl, node, 1)
  const jobs: Submitted[] = []
  for (const client of ['c1', 'c2']) jobs.push(await submit(icl, { client, commit: false }))
  for (const job of jobs) job.commit()
  // All are looked at in one pass.
  await icl.clock.jump(12_000)
  await icl.clock.advance(500)
  for (const node of nodes) expect(await offersOf(node)).toHaveLength(1)
})

it('a slot is free again once its node has committed, however long the others take', async () => {
  await icl.clock.advance(1_000)
  for (const node of nodes) await beat(icl, node, 1)
  const first = await submit(icl, { client: 'c1' })
  const second = await submit(icl, { client: 'c2' })
  const [node] = nodes as [TestNode]
  expect((await offersOf(node)).map(({ jobId }) => jobId)).toEqual([first.jobId])
  const claimed = await claim(node)
  await icl.clock.advance(2_000)
  expect(await offersOf(node)).toEqual([])
  await commitTo(node, claimed, 'yes')
  await icl.clock.advance(2_000)
  expect((await offersOf(node)).map(({ jobId }) => jobId)).toEqual([second.jobId])
})

describe('a node that stops', () => {
  const lastBeat = (node: TestNode) =>
    node.api.postHeartbeat({
      body: {
        operator_address: node.address,
        timestamp: Math.floor(icl.clock.now() / 1000) + 1,
        version: '0.0.0',
        free_slots: 0,
        supported_model_ids: [modelId],
        final: true,
      },
    })

  it('in order is offered nothing more, and its seat goes to another at once', async () => {
    nodes.push(await joinNode(icl, 'n4'))
    const job = await submit(icl, { commit: false })
    const leader = nodeAt(job.leader)
    await lastBeat(leader)
    job.commit()
    await icl.clock.advance(3_000)
    expect((await viewOf(job)).quorum.filter(({ seat }) => seat === 0)).toMatchObject([
      { node: leader.address, reason: 'node-left' },
      { node: spareOf(job).address, status: 'offered' },
    ])
    const { metrics } = await icl.api().getNode({ params: { address: leader.address } })
    expect(metrics.reputation_score).toBe(99)
  })

  it('finishes what it has claimed', async () => {
    const { view } = await runJob(icl, nodes, ['yes', 'yes', 'yes'], {
      beforeVerdicts: () => {
        for (const node of nodes) void lastBeat(node)
      },
    })
    expect((await view()).status).toBe('accepted')
    for (const { address } of nodes) {
      expect((await icl.deps.store.findNode(address))!.document.leaving).toBe(true)
    }
  })

  it('without a word is not drawn any more once it has not polled for a minute', async () => {
    nodes.push(await joinNode(icl, 'n4'))
    await icl.clock.advance(30_000)
    const alive = nodes.slice(1)
    for (const node of alive) await offersOf(node)
    await icl.clock.advance(31_000)
    for (const node of alive) await beat(icl, node)
    await beat(icl, nodes[0]!)
    const { leader, verifiers } = await submit(icl)
    expect(new Set([leader, ...verifiers])).toEqual(new Set(alive.map(({ address }) => address)))
  })
})
