import { afterEach, describe, expect, it } from 'vitest'
import { batching } from '../../../lib/chain/batching.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { answerJson, type LocalServer, type Seen, startServer } from '../../local-server.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

type Call = { readonly id: number; readonly method: string }

const servers: LocalServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

const answerTo = ({ id, method }: Call) =>
  method === 'eth_getCode'
    ? { jsonrpc: '2.0', id, error: { code: -32_602, message: 'no such account' } }
    : { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x7a69' : '0x5' }

type Answering = (
  response: Parameters<Parameters<typeof startServer>[0]>[0],
  calls: readonly Call[],
) => void

/** An RPC that answers a batch in its own way, and a call alone as usual. */
async function rpc(answer: Answering) {
  const server = await startServer((response, { body }) => {
    const asked = JSON.parse(body) as Call | Call[]
    if (Array.isArray(asked)) answer(response, asked)
    else answerJson(response, 200, answerTo(asked))
  })
  servers.push(server)
  return server
}
const inOrder: Answering = (response, calls) => answerJson(response, 200, calls.map(answerTo))

const readerOf = (...rpcs: readonly LocalServer[]) => {
  const rpcUrl = rpcs.map(({ url }) => url).join(',')
  return createChainReader({ rpcUrl, chainId: 31_337, batches: true }).publicClient
}
const countsOf = (seen: readonly Seen[]) => seen.map(({ body }) => [JSON.parse(body)].flat().length)

describe('calls of a chain that are made at once', () => {
  const address = `0x${'a'.repeat(40)}` as const

  it('travel as one batch, each with its own answer or error', async () => {
    const server = await rpc((response, calls) =>
      answerJson(response, 200, calls.map(answerTo).reverse()),
    )
    const reader = readerOf(server)
    const [chainId, block, code] = await Promise.all([
      reader.getChainId(),
      reader.getBlockNumber(),
      reader.getCode({ address }).catch((error: Error) => error.message),
    ])
    expect([chainId, block]).toEqual([31_337, 5n])
    expect(code).toContain('no such account')
    expect(await reader.getBlockNumber()).toBe(5n)
    expect(countsOf(server.seen)).toEqual([3, 1])
  })

  it('travel in batches of 20 at most', async () => {
    const server = await rpc(inOrder)
    const reader = readerOf(server)
    await Promise.all(Array.from({ length: 25 }, () => reader.getBalance({ address })))
    expect(countsOf(server.seen).toSorted((a, b) => b - a)).toEqual([20, 5])
  })

  const refusals: Record<string, Answering> = {
    'an error': (response) =>
      answerJson(response, 200, { id: null, error: { code: -32_600, message: 'no batches' } }),
    'a status': (response) => answerJson(response, 405, 'no batches'),
    'an outage': (response) => answerJson(response, 500, ''),
    'a part': (response, calls) => answerJson(response, 200, calls.slice(1).map(answerTo)),
    'another id': (response, calls) =>
      answerJson(
        response,
        200,
        calls.map((call) => answerTo({ ...call, id: -1 })),
      ),
    'a list of strange things': (response, calls) =>
      answerJson(
        response,
        200,
        calls.map(() => 7),
      ),
  }
  for (const [name, answer] of Object.entries(refusals)) {
    it(`travel alone, now and later, when the answer to a batch is ${name}`, async () => {
      const one = await rpc(answer)
      for (const rpcs of [[one], [one, await rpc(answer)]]) {
        const reader = readerOf(...rpcs)
        const read = () => Promise.all([reader.getBlockNumber(), reader.getChainId()])
        expect(await read()).toEqual([5n, 31_337])
        const before = countsOf(one.seen).filter((count) => count > 1).length
        expect(await read()).toEqual([5n, 31_337])
        expect(countsOf(one.seen).filter((count) => count > 1)).toHaveLength(before)
      }
    })
  }

  it('travel together again ten minutes after an answer to one of them', async () => {
    const clock = createVirtualClock()
    let isDown = true
    const sizes: number[] = []
    const fetch = batching(async (_, { body }) => {
      const calls = [JSON.parse(String(body))].flat() as Call[]
      sizes.push(calls.length)
      if (calls.length > 1 && isDown) return new Response(null, { status: 500 })
      const answers = calls.map(answerTo)
      return Response.json(answers.length > 1 ? answers : answers[0])
    }, clock)
    const body = (id: number) => JSON.stringify({ id, method: 'eth_chainId' })
    const read = async () => {
      const answers = [
        fetch('http://rpc', { body: body(1) }),
        fetch('http://rpc', { body: body(2) }),
      ]
      const both = Promise.all(answers).then((all) => Promise.all(all.map((one) => one.json())))
      expect(await clock.until(both)).toMatchObject([{ id: 1 }, { id: 2 }])
      return sizes.splice(0)
    }
    expect(await read()).toEqual([2, 1, 1])
    isDown = false
    await clock.advance(599_000)
    expect(await read()).toEqual([1, 1])
    await clock.advance(1_000)
    expect(await read()).toEqual([2])
  })

  it('wait together when an RPC has had too many requests', async () => {
    let batches = 0
    const busy = await rpc((response, calls) => {
      batches += 1
      if (batches === 1) answerJson(response, 429, {})
      else inOrder(response, calls)
    })
    const other = await rpc((response) => answerJson(response, 429, {}))
    for (const rpcs of [[busy], [busy, other]]) {
      batches = 0
      busy.seen.length = 0
      const reader = readerOf(...rpcs)
      expect(await Promise.all([reader.getBlockNumber(), reader.getChainId()])).toEqual([
        5n,
        31_337,
      ])
      expect(countsOf(busy.seen).filter((count) => count > 1)).toEqual([2, 2])
    }
  })

  it('fail each when nothing answers', async () => {
    const server = await rpc(inOrder)
    const reader = readerOf(server)
    await server.close()
    const failures = await Promise.allSettled([reader.getBlockNumber(), reader.getChainId()])
    expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})
