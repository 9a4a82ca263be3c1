import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readByGateway } from '../../icl/blobs/kubo-gateway.ts'
import { createKuboRpc } from '../../icl/blobs/kubo-rpc.ts'
import { createApi } from '../../lib/api.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import { toChainError } from '../../lib/chain/chain-error.ts'
import { createChainReader } from '../../lib/chain/clients.ts'
import { createKeySource } from '../../lib/coprocessor/network-keys.ts'
import { sealOutput, verifyProof } from '../../lib/coprocessor/services.ts'
import { ask, openAnswer } from '../../lib/outgoing.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { systemFetch as fetch } from '../../lib/system-fetch.ts'
import { providerFetch } from '../../node/inference/provider-fetch.ts'
import { type LocalServer, startServer } from '../local-server.ts'
import { startPackedServer } from '../packed-server.ts'

const rpcOf = (rpcUrl: string) => createChainReader({ rpcUrl, chainId: 31_337 }).publicClient
const never = new AbortController().signal
const serviceAt = (url: string) => ({ url, fetch, clock, signal: never })

let packed: LocalServer
let server: LocalServer
let answer: Parameters<typeof startServer>[0]
beforeAll(async () => {
  packed = await startPackedServer()
  server = await startServer((...given) => answer(...given))
})
afterAll(() => Promise.all([packed.close(), server.close()]))

const callers = {
  'the chain RPC': (url) =>
    rpcOf(url)
      .getBlockNumber()
      .catch((error: unknown) => Promise.reject(toChainError(error, 'reading the block'))),
  'the ICL': (baseUrl) =>
    createApi({ baseUrl, fetch, clock, random }).getModels({}, { attempts: 3 }),
  'a blob gateway': (url) => createGatewayBlobs({ gateways: [url], fetch, clock }).download('b'),
  "Kubo's RPC": (rpcUrl) => createKuboRpc({ rpcUrl, fetch, clock })({ command: 'version' }),
  "Kubo's gateway": (url) => readByGateway({ fetch, clock }, url, 'b', undefined),
  'a provider': (url) => providerFetch()(url, { method: 'POST', body: '{}' }),
  "the coprocessor's keys": (url) => createKeySource(url, fetch, clock).current(never),
  "the coprocessor's verifier": (url) =>
    verifyProof(serviceAt(url), { proof: new Uint8Array(3), account: '0x', chainId: 1 }),
  "the coprocessor's threshold network": (url) =>
    sealOutput(serviceAt(url), { handle: 1n, chainId: 1, permit: {} }),
} satisfies Record<string, (url: string) => Promise<unknown>>

describe('a packed answer', () => {
  for (const [name, call] of Object.entries(callers)) {
    it(`of ${name} is refused by name, and not asked for again`, async () => {
      packed.seen.length = 0
      await expect(call(packed.url)).rejects.toThrow('packed its answer (gzip)')
      const paths = packed.seen.map(({ path }) => path)
      expect(paths.length).toBe(new Set(paths).size)
      for (const { headers } of packed.seen) expect(headers['accept-encoding']).toBe('identity')
    })
  }
})

describe('a request', () => {
  const asked = (url: string, maxBytes: number) => ask(fetch, url, { signal: never, maxBytes })

  it('gets an answer up to its limit, and refuses a longer one before its end', async () => {
    answer = (response) => void response.write('12345')
    await expect(asked(server.url, 4)).rejects.toMatchObject({ kind: 'too-large' })
    answer = (response) => void response.end('12345')
    expect(new TextDecoder().decode((await asked(server.url, 5)).bytes)).toBe('12345')
  })

  it('takes an answer that says that it is not packed', async () => {
    answer = (response) =>
      void response.writeHead(200, { 'content-encoding': 'Identity' }).end('12345')
    expect((await asked(server.url, 5)).bytes).toHaveLength(5)
  })

  it('ends when its signal aborts, before an answer and within one', async () => {
    for (const begin of ['', '1234']) {
      answer = (response) => void (begin && response.write(begin))
      const outgoing = { signal: AbortSignal.timeout(50), maxBytes: 9 }
      await expect(ask(fetch, server.url, outgoing)).rejects.toMatchObject({ name: 'TimeoutError' })
    }
  })

  it('of a browser, which unpacks by itself, is held to the limit alone', async () => {
    const unpacked = new Response('12345', { headers: { 'content-encoding': 'gzip' } })
    const inBrowser = (request: Request) => {
      // A browser drops this header.
      request.headers.delete('accept-encoding')
      return Promise.resolve(unpacked)
    }
    const response = await openAnswer(inBrowser, server.url, { signal: never })
    expect(await response.text()).toBe('12345')
  })
})
