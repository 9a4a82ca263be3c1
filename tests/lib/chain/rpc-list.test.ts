import { parseGwei, zeroAddress } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { isNonceTaken, toChainError } from '../../../lib/chain/chain-error.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { leaveRpc, rpcHostInUse } from '../../../lib/chain/rpc-list.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { type RpcAnswer, startRpcStandIn } from './rpc-stand-in.ts'

const chainId = 31_337
const servers: LocalServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

const rpc = async (gwei: number, answers: Record<string, RpcAnswer> = {}) => {
  const price = { eth_gasPrice: { result: `0x${parseGwei(`${gwei}`).toString(16)}` } }
  const server = await startRpcStandIn(Object.assign(answers, { ...price, ...answers }))
  servers.push(server)
  return server
}
const failing = async (status: number, error?: object) => {
  const server = await startServer((response) => answerJson(response, status, { error }))
  servers.push(server)
  return server
}
const host = ({ url }: LocalServer) => new URL(url).host

type Place = Pick<LocalServer, 'url'>

/** A list of RPCs, whose addresses end with a secret. */
const settingOf = (...rpcs: readonly Place[]) => ({
  rpcUrl: rpcs.map(({ url }) => `${url}/secret`).join(','),
  chainId,
})

/** Reads over several RPCs. Each has half of `timeoutMs` to respond. */
function readerWithin(timeoutMs: number, ...rpcs: readonly Place[]) {
  const news: string[] = []
  const onRpcMoved = (line: string) => void news.push(line)
  const { publicClient } = createChainReader({ ...settingOf(...rpcs), timeoutMs, onRpcMoved })
  return { publicClient, news }
}
const readerOf = (...rpcs: readonly Place[]) => readerWithin(20_000, ...rpcs)

describe('a list of RPCs', () => {
  it('moves on when the one in use fails, stays there, and says so by host', async () => {
    const [first, second] = [await failing(503), await rpc(2)]
    const { publicClient, news } = readerOf(first, second)
    expect(await publicClient.getGasPrice()).toBe(parseGwei('2'))
    expect(await publicClient.getGasPrice()).toBe(parseGwei('2'))
    expect(first.seen).toHaveLength(2)
    expect(news).toEqual([
      `the chain RPC at ${host(first)} responds with HTTP 503: using the one at ${host(second)}`,
    ])
  })

  it('comes back to the first when the others fail', async () => {
    const [first, second] = [await rpc(1), await rpc(2)]
    const { publicClient } = readerOf({ url: 'http://127.0.0.1:9' }, first, second)
    expect(await publicClient.getGasPrice()).toBe(parseGwei('1'))
    await first.close()
    expect(await publicClient.getGasPrice()).toBe(parseGwei('2'))
  })

  it('moves on from one that does not respond, and does not use one of another chain', async () => {
    const silent = await rpc(1, { eth_gasPrice: 'silence' })
    const other = await rpc(3, { eth_chainId: { result: '0x5' } })
    const { publicClient, news } = readerWithin(1_000, silent, other, await rpc(2))
    expect(await publicClient.getGasPrice()).toBe(parseGwei('2'))
    expect(news[0]).toMatch(/does not respond; .* does not say that it is for chain 31337: using/)
  })

  it('names each of them and why it failed when all fail, without the rest of their addresses', async () => {
    const [first, second] = [await failing(401), await failing(429)]
    const { publicClient } = readerOf(first, { url: 'http://127.0.0.1:9' })
    const error = await publicClient.getGasPrice().catch((failure: unknown) => failure)
    const told = toChainError(error, 'looking')
    expect(told.message).toBe(
      `looking: the chain RPC at ${host(first)} responds with HTTP 401; the chain RPC at 127.0.0.1:9 does not respond`,
    )
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret')
    const limited = await readerOf(first, second)
      .publicClient.getGasPrice()
      .catch((failure: unknown) => toChainError(failure, 'looking'))
    expect(limited).toMatchObject({ code: 'chain-too-many-requests' })
  })

  it('sends each RPC its own credentials only', async () => {
    const [first, second, third] = [await failing(503), await failing(503), await rpc(2)]
    const as = (user: string, { url }: Place) => ({ url: url.replace('//', `//${user}:pass@`) })
    const { publicClient } = readerOf(as('a', first), second, as('c', third))
    await publicClient.getGasPrice()
    const sent = [first, second, third].map(({ seen }) => seen.at(-1)?.headers.authorization)
    expect(sent).toEqual([`Basic ${btoa('a:pass')}`, undefined, `Basic ${btoa('c:pass')}`])
  })

  it('takes the error of a request, but not a limit or a refused key, for the answer', async () => {
    const limited = await rpc(1, { eth_gasPrice: { error: { code: -32_005, message: 'limit' } } })
    const keyless = await failing(401, { code: -32_600, message: 'Must be authenticated!' })
    const error = { code: -32_000, message: 'nonce too low' }
    const strict = await startServer((response, { body }) => {
      const isProof = body.includes('eth_chainId') || body.includes('eth_blockNumber')
      answerJson(response, isProof ? 200 : 400, isProof ? { result: '0x7a69' } : { error })
    })
    servers.push(strict)
    const { publicClient, news } = readerOf(limited, keyless, strict, await rpc(2))
    const failure = await publicClient.getGasPrice().catch((refusal: unknown) => refusal)
    expect(isNonceTaken(failure)).toBe(true)
    expect(news[0]).toMatch(/limits requests; .* responds with HTTP 401: using/)
    const all = await readerOf(limited, limited)
      .publicClient.getGasPrice()
      .catch((refusal: unknown) => toChainError(refusal, 'looking'))
    expect(all).toMatchObject({ code: 'chain-too-many-requests' })
  })

  it('is shared by all clients of a process, and one of them says that it moved', async () => {
    const [first, second] = [await rpc(1), await rpc(2)]
    const one = readerOf(first, second)
    const other = readerOf(first, second)
    expect(await one.publicClient.getGasPrice()).toBe(parseGwei('1'))
    await first.close()
    const prices = Array.from({ length: 4 }, () =>
      one.publicClient.getBalance({ address: zeroAddress }),
    )
    await Promise.allSettled(prices)
    const asked = first.seen.length
    expect(await other.publicClient.getGasPrice()).toBe(parseGwei('2'))
    expect(first.seen).toHaveLength(asked)
    expect([...one.news, ...other.news]).toHaveLength(1)
  })

  it('leaves an RPC that hangs when the request ends before its own limit', async () => {
    const silent = await rpc(1, { eth_chainId: 'silence' })
    const { publicClient } = readerOf(silent, await rpc(2))
    const stop = new AbortController()
    const options = { signal: stop.signal, retryCount: 0 }
    const asked = publicClient.request({ method: 'eth_gasPrice' }, options)
    while (silent.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    stop.abort()
    await expect(asked).rejects.toThrow()
    expect(await publicClient.getGasPrice()).toBe(parseGwei('2'))
  })

  const at = (block: string): Record<string, RpcAnswer> => ({ eth_blockNumber: { result: block } })

  it('passes over an RPC that is more than 20 blocks behind, unless all are', async () => {
    const [first, old, third] = [
      await rpc(1, at('0x40')),
      await rpc(2, at('0x2b')),
      await rpc(3, at('0x2c')),
    ]
    const { publicClient, news } = readerOf(first, old, third)
    expect(await publicClient.getGasPrice()).toBe(parseGwei('1'))
    await first.close()
    expect(await publicClient.getGasPrice()).toBe(parseGwei('3'))
    expect(news[0]).toContain(`the chain RPC at ${host(old)} is 21 blocks behind: using`)
  })

  it('notices the newest block in the answer to a batch, too', async () => {
    const answers = at('0x2')
    const rpcs = [await rpc(1, answers), await rpc(2), await rpc(3, at('0x40'))] as const
    const { publicClient } = createChainReader({ ...settingOf(...rpcs), batches: true })
    expect(await publicClient.getGasPrice()).toBe(parseGwei('1'))
    Object.assign(answers, at('0x40'))
    await Promise.all([publicClient.getBlockNumber(), publicClient.getGasPrice()])
    await rpcs[0].close()
    expect(await publicClient.getGasPrice()).toBe(parseGwei('3'))
  })

  it('uses RPCs that are all behind what one of them has shown', async () => {
    const answers = at('0x40')
    const [first, second] = [await rpc(1, answers), await rpc(2, at('0x1'))]
    const { publicClient } = readerOf(first, second)
    expect(await publicClient.getBlockNumber()).toBe(0x40n)
    Object.assign(answers, at('0x2'))
    leaveRpc(settingOf(first, second), host(first), 'is behind')
    const once = { retryCount: 0 }
    expect(await publicClient.request({ method: 'eth_maxPriorityFeePerGas' }, once)).toBe('0x1')
  })

  it('moves on from an RPC that its user calls behind, once', async () => {
    const rpcs = [await rpc(1), await rpc(2), await rpc(3)] as const
    const { publicClient } = readerOf(...rpcs)
    leaveRpc(settingOf(...rpcs), host(rpcs[0]), 'is behind')
    leaveRpc(settingOf(...rpcs), host(rpcs[0]), 'is behind')
    expect(rpcHostInUse(settingOf(...rpcs))).toBe(host(rpcs[1]))
    expect(await publicClient.getGasPrice()).toBe(parseGwei('2'))
  })
})
