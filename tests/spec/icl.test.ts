import { describe, expect, it } from 'vitest'
import { endpoints } from '../../lib/endpoints.ts'
import { problemCodes } from '../../lib/problem-codes.ts'
import { freshIcl, icl, nodeAt, nodes, startIcl } from '../icl/fresh-icl.ts'
import { claim, offersOf } from '../icl/node-steps.ts'
import { submit } from '../icl/test-client.ts'
import { joinNodes, modelId, origin } from '../icl/test-icl.ts'

// Shapes and paths of sections 2 and 4, as any client of HTTP sees them.

freshIcl(3)

const get = async (path: string) => {
  const response = await icl.fetch(new Request(`${origin}${path}`))
  expect(response.headers.get('content-type')).toMatch(/^application\/(problem\+)?json$/)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('the ICL', () => {
  it('gives a node record with every field of section 2.2', async () => {
    const { address } = nodes[0]!
    const { status, body } = await get(`/v1/nodes/${address}`)
    expect([status, body.operator_address]).toEqual([200, address])
    expect(address).toMatch(/^0x[0-9a-f]{40}$/)
    expect([body.model_tiers, body.active]).toEqual([[0], true])
    const { last_heartbeat, ...counts } = body.metrics as Record<string, number>
    expect(Math.abs(icl.clock.now() / 1_000 - last_heartbeat!)).toBeLessThan(60)
    expect(new Set(Object.keys(counts))).toEqual(
      new Set([
        ...['tasks_completed', 'tasks_accepted', 'tasks_rejected'],
        ...['reputation_score', 'total_slash_amount'],
      ]),
    )
    for (const count of Object.values(counts)) expect(Number.isInteger(count)).toBe(true)
    expect(body.draw).toBeTypeOf('object')
  })

  it('lists the active nodes by address', async () => {
    const { body } = await get('/v1/nodes/active')
    const listed = body.nodes as { operator_address: string }[]
    expect(new Set(listed.map((node) => node.operator_address))).toEqual(
      new Set(nodes.map(({ address }) => address)),
    )
  })

  it('previews a quorum of three active nodes, and refuses one of two', async () => {
    const path = `/v1/inference/quorum-preview?model_id=${modelId}`
    expect(await get(path)).toMatchObject({ status: 200, body: { nodes: 3 } })
    await joinNodes(await startIcl(), 2)
    const { body, status } = await get(path)
    expect([status, body.code]).toEqual([400, 'not-enough-nodes'])
    expect(JSON.stringify(body)).toMatch(/not enough active nodes .*requested quorum/i)
  })

  it('answers a preview with 400 only while fewer nodes are active than a quorum has', async () => {
    const cases = [
      ['model_id=openai:none', 409, 'not-enough-serving'],
      [`model_id=${modelId}&min_tier=9`, 409, 'not-enough-serving'],
      ['min_tier=9', 409, 'not-enough-serving'],
      [`model_id=${modelId}&comparator=structured/1`, 409, 'not-enough-serving'],
      ['verifier_count=3', 400, 'not-enough-nodes'],
      ['verifier_count=1', 422, 'invalid-query'],
      ['min_tier=0&min_tier=0', 422, 'invalid-query'],
      ['model_id=%ff', 422, 'invalid-query'],
    ]
    for (const [query, ...wanted] of cases) {
      const { status, body } = await get(`/v1/inference/quorum-preview?${query}`)
      expect([query, status, body.code]).toEqual([query, ...wanted])
    }
  })

  it('offers a job to one leader and two verifiers, and gives the stored handles for a claim', async () => {
    const job = await submit(icl)
    const roles: string[] = []
    for (const node of [job.leader, ...job.verifiers].map(nodeAt)) {
      const [offer] = await offersOf(node)
      expect(offer!.jobId).toMatch(/^0x[0-9a-f]{64}$/)
      roles.push(offer!.role)
      const { kpHighHandle, kpLowHandle, claimDeadline, server_time } = await claim(node)
      expect([kpHighHandle, kpLowHandle]).toEqual([job.highHandle, job.lowHandle])
      expect(claimDeadline).toBeGreaterThan(server_time)
    }
    expect(roles).toEqual(['leader', 'verifier', 'verifier'])
  })

  it('has the paths and methods of section 4, for nodes under /internal, for all others never there', () => {
    const described = Object.values(endpoints).map(({ method, path }) => `${method} ${path}`)
    for (const one of [
      ...['GET /health', 'GET /v1/nodes/active', 'GET /v1/nodes/{address}'],
      ...['GET /v1/inference/quorum-preview', 'GET /internal/challenge/{address}'],
      ...['POST /internal/heartbeat', 'GET /internal/assignments/{address}'],
      ...['POST /internal/task/claim', 'POST /internal/task/result', 'POST /internal/task/verify'],
    ]) {
      expect(described).toContain(one)
    }
    for (const { path, auth } of Object.values(endpoints)) {
      const isForNodes = auth === 'node' || auth === 'wallet' || /challenge|mock-key/.test(path)
      expect([path, path.startsWith('/internal/')]).toEqual([path, isForNodes])
      expect(path).not.toMatch(/^\/internal\/v\d/)
    }
  })

  it('answers evidence that it refuses with 400 or 403', () => {
    for (const code of endpoints.verifyAttestation.problems) {
      if (!/^(attestation|challenge|quote)-/.test(code)) continue
      expect([code, [400, 403].includes(problemCodes[code].status)]).toEqual([code, true])
    }
  })
})
