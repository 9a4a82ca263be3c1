import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { type ReputationCode, standingOf } from '../../lib/reputation.ts'
import { ReputationStatement } from '../../lib/schemas/nodes.ts'
import { verifySignature } from '../../lib/session-key.ts'
import { aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { runJob } from './run-job.ts'
import { joinNode, joinNodes, walletOf } from './test-icl.ts'

describe('the events of a node', () => {
  it('are signed by a published key, and add up to its record', async () => {
    await startIcl()
    const nodes = await joinNodes(icl, 3)
    const { deliverer, job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    await icl.clock.advance(2_000)
    const params = { address: deliverer!.address }
    const { events, next_cursor } = await icl.api().getNodeEvents({ params, query: {} })
    expect(next_cursor).toBeNull()
    expect(events.map(({ body }) => [body.address, body.jobId, body.code])).toEqual([
      [deliverer!.address, job.jobId, 'answer-delivered'],
    ])
    const jwks = await icl.api().getJwks()
    for (const { body, key, signature } of events) {
      expect(jwks.keys.map(({ x }) => x)).toContain(key)
      const bytes = canonicalJson(z.encode(ReputationStatement, body))
      expect(await verifySignature(key, signature, bytes)).toBe(true)
      const changed = canonicalJson(z.encode(ReputationStatement, { ...body, at: body.at + 1 }))
      expect(await verifySignature(key, signature, changed)).toBe(false)
    }
    const { metrics } = await icl.api().getNode({ params })
    const told = events.map(({ body }) => ({
      id: body.id,
      node: body.address,
      jobId: body.jobId,
      code: body.code as ReputationCode,
      at: body.at,
    }))
    expect(metrics.reputation_score).toBe(standingOf(told.reverse()).score)
  })

  it('come newest first, each once, a hundred a page', async () => {
    await startIcl()
    const { address } = await joinNode(icl, 'n1')
    const other = await joinNode(icl, 'n2')
    for (let index = 0; index < 250; index++) {
      const event = {
        id: `event-${index}`,
        node: index % 5 === 4 ? other.address : address,
        jobId: aJobId(`0x${'0'.repeat(64)}`),
        code: 'offer-lapsed' as const,
        at: icl.clock.now() - Math.floor(index / 7),
      }
      await icl.deps.store.save({ kind: 'event', event })
    }
    const seen: { id: string; at: number; address: string }[] = []
    let cursor: string | undefined
    do {
      const query = cursor === undefined ? {} : { cursor }
      const page = await icl.api().getNodeEvents({ params: { address }, query })
      expect(page.events.length).toBeLessThanOrEqual(100)
      seen.push(...page.events.map(({ body }) => body))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(200)
    expect(seen).toHaveLength(200)
    expect(new Set(seen.map((body) => body.address))).toEqual(new Set([address]))
    expect(seen.map(({ at }) => at)).toEqual(seen.map(({ at }) => at).toSorted((a, b) => b - a))
  })

  it('of a node that never attested do not exist', async () => {
    await startIcl()
    const { address } = walletOf('nobody')
    const call = icl.api().getNodeEvents({ params: { address }, query: {} })
    expect(await codeOf(call)).toBe('node-not-found')
  })
})
