import { describe, expect, it, vi } from 'vitest'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { drawList } from '../../lib/list.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { SignedList } from '../../lib/schemas/list.ts'
import type { Terms } from '../../lib/schemas/terms.ts'
import { verifySignature } from '../../lib/session-key.ts'
import { statementBytes } from '../../lib/statements.ts'
import { systemRandom } from '../../lib/system.ts'
import { termsHash } from '../../lib/terms.ts'
import { aHash } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { useReplicas } from './replica-set.ts'
import { listedKey, submit } from './test-client.ts'
import {
  beat,
  beThere,
  chainId,
  joinNodes,
  modelId,
  type Outside,
  origin,
  type TestIcl,
  walletOf,
} from './test-icl.ts'

const { start, pair } = useReplicas()

/** Two replicas with so many nodes. */
async function world(count: number) {
  const { nodes, ...shared } = await pair()
  nodes.push(...(await joinNodes(shared.a, count - 3, 4)))
  return { ...shared, nodes }
}

const currentPool = async (icl: TestIcl) => {
  const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
  return (await icl.api().previewQuorum({ query })).pool_cid
}

const termsOf = (pool_cid: string, changes: Partial<Terms> = {}): Terms => ({
  icl_origin: origin,
  pool_cid,
  model_id: modelId,
  min_tier: 0,
  comparator: 'exact',
  rule: 'three',
  quorum: 3,
  max_answers: 7,
  min_matches: 1,
  list_length: 9,
  salt: toBase64Url(systemRandom.bytes(32)),
  ...changes,
})

/** The node says how many slots it has left. */
async function tellSlots(icl: TestIcl, node: Parameters<typeof beat>[1], free: number) {
  await icl.clock.advance(1_000)
  await beat(icl, node, free)
}

let nextHandle = 1_000n

/** Stores a key of `client` under terms and gives what to ask for its list with. */
async function storeUnder({ chain, clock }: Outside, terms: Terms, storedAt = unixSeconds(clock)) {
  const [high, low] = [nextHandle++, nextHandle++]
  const hash = await termsHash(terms)
  const block_number = chain.storeKey(high, low, walletOf('client').address, hash, storedAt)
  return { kpHighHandle: high, kpLowHandle: low, block_number, terms }
}

type Request = Awaited<ReturnType<typeof storeUnder>>
const ask = (icl: TestIcl, body: Request, client = 'client') =>
  icl.api(walletOf(client).signer).drawList({ body })

/** The list as anybody draws it who has the terms. */
async function drawnAgain(icl: TestIcl, { body }: SignedList): Promise<readonly Address[]> {
  const { nodes } = await readPool(body.terms.pool_cid, (cid) =>
    icl.api().getBlob({ params: { cid } }),
  )
  return drawList(
    {
      chainId,
      store: icl.deps.network.contracts.prompt_key_store,
      client: body.client,
      kpHighHandle: body.kpHighHandle,
      kpLowHandle: body.kpLowHandle,
      termsHash: await termsHash(body.terms),
      blockHash: body.block.hash,
    },
    body.terms,
    nodes,
  )
}

describe('the list of a stored key', () => {
  it('is the same however often it is asked for, from any replica, and is drawn from block and pool', async () => {
    const { a, b, clock, nodes } = await world(20)
    const key = await listedKey(a)
    const { keys } = await a.api().getJwks()
    for (const icl of [a, b, a, b]) {
      await clock.advance(400_000)
      await beThere(icl, nodes)
      const signed = await key.api.drawList({ body: key.request })
      const { body, signature } = signed
      expect(body.list).toEqual(key.list.body.list)
      expect(body.list).toEqual(await drawnAgain(icl, signed))
      expect(keys.map(({ x }) => x)).toContain(signed.key)
      expect(await verifySignature(signed.key, signature, statementBytes(body))).toBe(true)
    }
  })

  it('is one of a hundred that twenty wallets ask for, and no asking changes any', async () => {
    const { a, b, nodes } = await world(20)
    // However the lists fall out, no draw has to wait for a node that has no room.
    for (const node of nodes) await tellSlots(a, node, 20)
    const wallets = Array.from({ length: 20 }, (_, index) => `wallet ${index}`)
    const lists = new Map<string, string>()
    const keys = await Promise.all(wallets.map((client) => listedKey(a, { client })))
    for (let time = 0; time < 4; time++) {
      for (const { api, request, list, client } of keys) {
        const { body } = await api.drawList({ body: request })
        lists.set(client.address, body.list.join())
        expect(body.list).toEqual(list.body.list)
      }
    }
    expect(new Set(lists.values()).size).toBe(20)
    for (const { list } of keys) expect(list.body.list).toEqual(await drawnAgain(b, list))
  })

  it('seats no node that has begun to leave, whatever is remembered of the chain', async () => {
    const { a, chain } = await world(5)
    const key = await listedKey(a)
    const { list } = key.list.body
    const remembered = new Map(chain.nodes)
    chain.nodeOf = async (node) => remembered.get(node)!
    chain.nodesOf = async (_, when) => (when === 'now' ? chain.nodes : remembered)
    const looks = vi.spyOn(chain, 'nodesOf')
    const leaving = { ...remembered.get(list[1]!)!, active: false, unbonding: true }
    chain.nodes.set(list[1]!, leaving)
    const { body } = await key.api.drawList({ body: key.request })
    expect(body.passed).toMatchObject([{ position: 1, reason: 'stake-unbonding' }])
    const now = looks.mock.calls.filter(([, when]) => when === 'now').map(([nodes]) => nodes)
    expect(now).toEqual([list.slice(0, 3), [list[3]]])
  })

  it('is another one for another block', async () => {
    const { a, chain } = await world(20)
    const terms = termsOf(await currentPool(a))
    const request = await storeUnder(a, terms)
    const before = await ask(a, request)
    const key = chain.keys.get(`${request.kpHighHandle}:${request.kpLowHandle}`)!
    const hash = aHash(`0x${'c'.repeat(64)}`)
    chain.keys.set(`${request.kpHighHandle}:${request.kpLowHandle}`, {
      ...key,
      block: { number: 8n, hash },
    })
    const after = await ask(a, { ...request, block_number: 8n })
    expect(after.body.block).toEqual({ number: 8n, hash })
    expect(after.body.list).not.toEqual(before.body.list)
  })

  it('leaves out its client, who may have nodes of its own', async () => {
    const { a } = await world(4)
    const { list } = await listedKey(a, { client: 'n1' })
    expect(list.body.list).toHaveLength(3)
    expect(list.body.list).not.toContain(walletOf('n1').address)
  })

  it('is not drawn from a pool that has too few for the client', async () => {
    const { a } = await world(3)
    expect(await codeOf(listedKey(a, { client: 'n1' }))).toBe('not-enough-serving')
  })
})

describe('a list is refused', () => {
  it('to all but the owner of the key', async () => {
    const { a } = await world(3)
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    expect(await codeOf(ask(a, request, 'thief'))).toBe('key-unknown')
    expect(await codeOf(ask(a, request))).toBeUndefined()
  })

  it('for other terms than those of the key, and for those that name another ICL', async () => {
    const { a } = await world(3)
    const pool = await currentPool(a)
    const request = await storeUnder(a, termsOf(pool))
    const cheaper = { ...request, terms: { ...request.terms, list_length: 16 } }
    expect(await codeOf(ask(a, cheaper))).toBe('terms-refused')
    const elsewhere = await storeUnder(a, termsOf(pool, { icl_origin: 'https://other.test' }))
    expect(await codeOf(ask(a, elsewhere))).toBe('terms-refused')
    const short = await storeUnder(a, termsOf(pool, { list_length: 3, quorum: 4 }))
    expect(await codeOf(ask(a, short))).toBe('terms-refused')
  })

  it('for terms that no job can fulfil, by themselves or with the nodes that there are', async () => {
    const { a, chain } = await world(4)
    const pool = await currentPool(a)
    const looks = vi.spyOn(chain, 'storedKeyAt')
    const tried = async (changes: Partial<Terms>) => {
      looks.mockClear()
      const request = await storeUnder(a, termsOf(pool, changes))
      const error = await ask(a, request).catch((reason: unknown) => reason)
      return [error instanceof ProblemError && error.code, looks.mock.calls.length]
    }
    const never = ['terms-refused', 0]
    expect(await tried({ quorum: 5, max_answers: 4 })).toEqual(never)
    expect(await tried({ max_answers: 4, min_matches: 4 })).toEqual(never)
    expect(await tried({ list_length: 4, min_matches: 4 })).toEqual(never)
    // Five have to match one another, and the pool has four.
    expect(await tried({ min_matches: 4 })).toEqual(['terms-refused', 1])
    expect(await tried({ min_matches: 3 })).toEqual([false, 1])
    expect(await tried({ rule: 'majority', max_answers: 5 })).toEqual([false, 1])
  })

  it('for a key that the chain does not show in that block, at the cost of one look', async () => {
    const { a, chain, clock } = await world(3)
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    const elsewhere = { ...request, block_number: request.block_number + 1n }
    let looks = 0
    const { storedKeyAt } = chain
    chain.storedKeyAt = (...asked) => {
      looks += 1
      return storedKeyAt(...asked)
    }
    for (let time = 0; time < 20; time++) {
      expect(await codeOf(ask(a, elsewhere))).toBe('key-unknown')
    }
    expect(looks).toBe(1)
    await clock.advance(2_000)
    expect(await codeOf(ask(a, elsewhere))).toBe('key-unknown')
    expect(looks).toBe(2)
  })

  it('for a key that was stored more than half an hour ago', async () => {
    const { a, clock, nodes } = await world(3)
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    await clock.jump(1_800_000)
    await beThere(a, nodes)
    expect(await codeOf(ask(a, request))).toBeUndefined()
    await clock.advance(1_000)
    expect(await codeOf(ask(a, request))).toBe('key-expired')
  })

  it('for a pool that was published after the key, long before it, or never', async () => {
    const { a, clock, nodes } = await world(3)
    const pool = await currentPool(a)
    const at = unixSeconds(clock)
    const storedAt = async (seconds: number) =>
      codeOf(ask(a, await storeUnder(a, termsOf(pool), seconds)))
    expect(await storedAt(at - 60)).toBeUndefined()
    expect(await storedAt(at - 62)).toBe('terms-refused')
    // It is the current one for 30 s, and may be named for 300 s more.
    await clock.jump(400_000)
    await beThere(a, nodes)
    expect(await storedAt(at + 329)).toBeUndefined()
    expect(await storedAt(at + 331)).toBe('terms-refused')
    const unknown = await storeUnder(a, termsOf(`bafkrei${'a'.repeat(52)}`))
    expect(await codeOf(ask(a, unknown))).toBe('terms-refused')
  })

  it('to a draw of which too few nodes are there: it would overtake those that wait for the others', async () => {
    const { a, clock, nodes } = await world(4)
    const request = await storeUnder(a, termsOf(await currentPool(a), { quorum: 4 }))
    await clock.advance(160_000)
    await beThere(a, nodes.slice(1))
    expect(await codeOf(ask(a, request))).toBe('not-enough-nodes')
    await beThere(a, nodes)
    expect(await codeOf(ask(a, request))).toBeUndefined()
  })

  it('to a client that has as many jobs as it may, until one of them has settled', async () => {
    const { a, clock, nodes } = await world(3)
    await clock.advance(1_000)
    for (const node of nodes) await beat(a, node, 8)
    const first = await submit(a)
    for (let count = 1; count < defaultJobLimits.maxJobsPerClient; count++) await submit(a)
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    expect(await ask(a, request).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 'draw-queued',
      queue: { place: 1, waiting: 1 },
      retryAfterSeconds: 1,
    })
    await first.api.cancelJob({ params: { jobId: first.jobId } })
    await clock.advance(200)
    expect(await codeOf(ask(a, request))).toBeUndefined()
  })

  it('to a client whose turn does not come, before it gives up, however slow the chain was meanwhile', async () => {
    const { a, clock, nodes, chain } = await world(3)
    await clock.advance(1_000)
    for (const node of nodes) await beat(a, node, 8)
    for (let count = 0; count < defaultJobLimits.maxJobsPerClient; count++) await submit(a)
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    const { storedKeyAt } = chain
    chain.storedKeyAt = async (...of) => {
      await clock.sleep(15_000)
      return storedKeyAt(...of)
    }
    const before = clock.now()
    const api = a.api(walletOf('client').signer)
    const asked = codeOf(api.drawList({ body: { ...request, wait: 20 } }, { timeoutMs: 30_000 }))
    expect(await clock.until(asked)).toBe('draw-queued')
    expect(clock.now() - before).toBeLessThanOrEqual(21_000)
  })

  it('to a client that has asked for it for an hour and more, and whose prompt it then takes', async () => {
    const { a, b, clock, nodes } = await world(4)
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    const { terms: _, ...key } = request
    // One node leaves, so that the pool is another one soon.
    const left = nodes.slice(1)
    for (let time = 0; time < 34; time++) {
      await beThere(a, left)
      for (const node of left) await tellSlots(a, node, 0)
      if (time > 3) await currentPool(a)
      expect(await codeOf(ask(a, request))).toBe('draw-queued')
      await clock.advance(120_000)
    }
    await beThere(a, left)
    await clock.advance(1_000)
    expect(await codeOf(ask(a, request))).toBeUndefined()
    const blob = new Uint8Array(64).fill(1)
    const put = (icl: TestIcl) =>
      codeOf(icl.api(walletOf('client').signer).putBlob({ query: key, body: blob }))
    expect([await put(a), await put(b)]).toEqual([undefined, undefined])
    // The answer may have been lost.
    await clock.advance(30_000)
    expect(await codeOf(ask(a, request))).toBeUndefined()
    await clock.advance(600_000)
    await beThere(a, left)
    // The queue forgets a turn that is over when the next one comes.
    await ask(a, await storeUnder(a, termsOf(await currentPool(a))))
    expect([await codeOf(ask(a, request)), await put(a)]).toEqual(['terms-refused', 'key-expired'])
  })

  it('to a client that the operator has not admitted', async () => {
    const { a, store, chain, clock } = await world(3)
    const access = { ...a.deps.access, clients: new Set([walletOf('other').address]) }
    const closed = await start({ store, chain, clock }, 'closed', { access })
    const request = await storeUnder(a, termsOf(await currentPool(a)))
    expect(await codeOf(ask(closed, request))).toBe('client-not-allowed')
  })
})
