import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { type LocalServer, startServer } from '../../local-server.ts'

const begun = '{"jsonrpc":"2.0","id":1,"result":"0x'
let answer: (response: ServerResponse) => void
let server: LocalServer

beforeAll(async () => {
  server = await startServer((response) => {
    response.on('error', () => {})
    response.setHeader('content-type', 'application/json')
    answer(response)
  })
})
afterAll(() => server.close())

const blockNumber = (timeoutMs: number): Promise<bigint> =>
  createChainReader({
    rpcUrl: server.url,
    chainId: 31_337,
    timeoutMs,
  }).publicClient.getBlockNumber()

it('an answer of a chain RPC that does not end is given up when its time is over', async () => {
  answer = (response) => response.write(begun)
  await expect(blockNumber(50)).rejects.toThrow('took too long')
})

it('a chain RPC that does not answer is given up even where the request cannot be stopped', async () => {
  const { publicClient } = createChainReader({
    ...{ rpcUrl: server.url, chainId: 31_337, timeoutMs: 50 },
    rpcFetch: () => new Promise(() => {}),
  })
  await expect(publicClient.getBlockNumber()).rejects.toThrow('took too long')
})

it('an answer of a chain RPC is not read without end', async () => {
  answer = (response) => {
    const more = () => {
      while (response.writable && response.write('0'.repeat(65_536)));
      response.once('drain', more)
    }
    response.write(begun)
    more()
  }
  await expect(blockNumber(60_000)).rejects.toThrow('more than 10485760 bytes')
})

it.each([301, 302, 307, 308])('a chain RPC that redirects (%i) is not followed', async (status) => {
  const elsewhere = await startServer((response) => {
    response.end(`${begun}1"}`)
  })
  answer = (response) => response.writeHead(status, { location: elsewhere.url }).end()
  try {
    await expect(blockNumber(60_000)).rejects.toThrow('redirects elsewhere')
    expect(elsewhere.seen).toEqual([])
  } finally {
    await elsewhere.close()
  }
})
