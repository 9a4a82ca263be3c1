import { describe, expect, it } from 'vitest'
import type { ProblemError } from '../../lib/problem.ts'
import type { WithdrawalReason } from '../../lib/schemas/nodes.ts'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import { claim } from './node-steps.ts'
import { listedKey, submit } from './test-client.ts'
import { beThere, heartbeatOf, joinNode, modelId, type TestNode } from './test-icl.ts'

freshIcl(3)

/** A heartbeat of a node that does not offer these models. */
async function withdraw(
  node: TestNode,
  reason: WithdrawalReason,
  retry_after?: number,
  models: readonly string[] = [modelId],
) {
  await icl.clock.advance(1_000)
  const withdrawn = models.map((model_id) => ({
    ...{ model_id, reason },
    ...(retry_after !== undefined && { retry_after }),
  }))
  const body = heartbeatOf(node.address, icl.clock)
  const supported_model_ids = body.supported_model_ids.filter((id) => !models.includes(id))
  await node.api.postHeartbeat({ body: { ...body, supported_model_ids, withdrawn } })
}

const limit = async (...seconds: readonly number[]) => {
  for (const [at, retryAfter] of seconds.entries())
    await withdraw(nodes[at]!, 'provider-rate-limited', retryAfter)
}

const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
const preview = () => icl.api().previewQuorum({ query })
const refusalOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    ({ code, status, retryAfterSeconds }: ProblemError) => [code, status, retryAfterSeconds],
  )
const detailOf = (asked: Promise<unknown>) => asked.then(String, String)
const models = async () => (await icl.api().getModels()).models

describe('a model', () => {
  it('that its nodes do not offer for a rate limit stays listed, and is refused for ten minutes at most', async () => {
    await limit(3_600, 60, 600)
    expect(await models()).toEqual([{ model_id: modelId, nodes: 0, withdrawn: 3 }])
    // Three are needed, so the last counts. Two seconds have passed since it spoke first.
    expect(await refusalOf(preview())).toEqual(['model-limited', 429, 600])
    expect(await detailOf(preview())).toContain('Ask again in 3598 s')
  })

  it('whose other nodes are refused has no rate limit that ends the refusal', async () => {
    await limit(10)
    await withdraw(nodes[1]!, 'provider-key-refused')
    await withdraw(nodes[2]!, 'provider-quota-used-up')
    expect(await refusalOf(preview())).toEqual(['model-withdrawn', 503, 60])
  })

  it('that most of a job would lack is refused until as many nodes as are lacking offer it again', async () => {
    await limit(3_600, 60)
    expect(await models()).toEqual([{ model_id: modelId, nodes: 1, withdrawn: 2 }])
    expect(await refusalOf(preview())).toEqual(['model-limited', 429, 600])
    await joinNode(icl, 'n4')
    await icl.clock.advance(1_000)
    expect(await refusalOf(preview())).toEqual(['model-limited', 429, 59])
    await joinNode(icl, 'n5')
    await icl.clock.advance(1_000)
    expect(await preview()).toMatchObject({ nodes: 3 })
  })

  it('for which no node has credit is refused without a rate limit', async () => {
    for (const node of nodes) await withdraw(node, 'provider-quota-used-up')
    expect(await refusalOf(preview())).toEqual(['model-withdrawn', 503, 60])
  })

  it('is offered again with the next heartbeat that does not name it', async () => {
    await limit(3_600, 3_600, 3_600)
    await icl.clock.advance(1_000)
    for (const node of nodes)
      await node.api.postHeartbeat({ body: heartbeatOf(node.address, icl.clock) })
    expect(await models()).toEqual([{ model_id: modelId, nodes: 3 }])
    expect(await preview()).toMatchObject({ nodes: 3 })
  })

  it('of other nodes is as it was, whatever a node says that it does not serve', async () => {
    await joinNode(icl, 'n4')
    await withdraw(nodes[0]!, 'provider-rate-limited', 60, [modelId, 'openai:none'])
    expect(await preview()).toMatchObject({ nodes: 3 })
    const none = { query: { ...query, model_id: 'openai:none' } }
    expect((await refusalOf(icl.api().previewQuorum(none)))?.[0]).toBe('not-enough-serving')
  })

  it('is refused by the draw of a key that was stored before', async () => {
    const { api, request } = await listedKey(icl)
    await limit(90, 60)
    expect(await refusalOf(api.drawList({ body: request }))).toEqual(['model-limited', 429, 89])
  })

  it('that the nodes of a newer pool offer is not refused as limited: the client may store another key', async () => {
    const { api, request } = await listedKey(icl)
    for (const name of ['n4', 'n5', 'n6']) await joinNode(icl, name)
    await limit(3_600)
    expect(await preview()).toMatchObject({ nodes: 5 })
    expect((await refusalOf(api.drawList({ body: request })))?.[0]).toBe('not-enough-serving')
  })

  it('withdrawn for longer or shorter leaves the published pool the same', async () => {
    const others = [...nodes.slice(1), await joinNode(icl, 'n4')]
    await limit(3_600)
    await icl.clock.advance(31_000)
    await beThere(icl, others)
    const { pool_cid } = await preview()
    await limit(60)
    await icl.clock.advance(31_000)
    await beThere(icl, others)
    expect((await preview()).pool_cid).toBe(pool_cid)
  })
})

it('a job ends when the members that are left have withdrawn its model until after its deadline', async () => {
  nodes.push(await joinNode(icl, 'n4'))
  await icl.clock.advance(31_000)
  const job = await submit(icl)
  const [leader, , , spare] = job.list.body.list.map(nodeAt)
  await withdraw(spare!, 'provider-rate-limited', 3_600)
  const { jobId, fence } = await claim(leader!)
  await leader!.api.abortAssignment({ body: { jobId, fence, reason: 'provider-key-refused' } })
  await icl.clock.advance(3_000)
  const { api, readToken } = job
  const view = await api.getJob({ params: { jobId } }, { readToken })
  expect(view).toMatchObject({ status: 'expired', reason: 'list-used-up' })
})
