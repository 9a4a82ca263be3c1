import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createKuboBlobs } from '../../icl/blobs/kubo.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import { cidOf } from '../../lib/cid.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { type LocalServer, startServer } from '../local-server.ts'
import { itWithKubo, kuboNote, startTestKubo } from '../tools/kubo.ts'

const dripMs = 20
const blob = systemRandom.bytes(1_000)
const cid = await cidOf(blob)
const tried = await startTestKubo()
const servers: LocalServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})
afterAll(() => tried?.stop())

type Answer = (response: ServerResponse, path: string) => void

async function hostile(answer: Answer): Promise<string> {
  const server = await startServer((response, { path }) => answer(response, path))
  servers.push(server)
  return server.url
}

/** One byte after another, until the reader has had enough. */
const drip: Answer = (response) => {
  response.writeHead(200, { 'content-length': String(blob.length) })
  let sent = 0
  const timer = setInterval(() => {
    if (sent >= blob.length) response.end()
    else response.write(blob.subarray(sent, ++sent))
  }, dripMs)
  response.once('close', () => clearInterval(timer))
}

/** More and more, for as long as it is read. */
const flood: Answer = (response) => {
  let isOpen = true
  response.once('close', () => {
    isOpen = false
  })
  const chunk = Buffer.alloc(64 * 1024)
  const more = () => {
    while (isOpen && response.write(chunk));
    if (isOpen) response.once('drain', more)
  }
  more()
}

const doubles: readonly [string, Answer, RegExp][] = [
  ['sends tampered bytes', (response) => response.end(blob.map((byte) => byte ^ 1)), /do not hash/],
  ['has a page of its own', (response) => response.end('<html>Log in</html>'), /do not hash/],
  ['does not have it', (response) => response.writeHead(404).end(), /answered 404/],
  [
    'limits requests',
    (response) => response.writeHead(429, { 'retry-after': '0' }).end(),
    /answered 429/,
  ],
  ['is silent', () => {}, /no whole answer/],
  ['drips', drip, /no whole answer/],
  ['floods', flood, /sent more than/],
  [
    'sends round in circles',
    (response, path) => response.writeHead(302, { location: path }).end(),
    /redirects elsewhere/,
  ],
  [
    'sends elsewhere, to nobody',
    (response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
    /redirects elsewhere/,
  ],
]

const download = (gateways: readonly string[], attemptMs: number) =>
  createGatewayBlobs({
    gateways,
    fetch: (request) => fetch(request),
    clock: systemClock,
    attemptMs,
    rounds: 2,
    firstBackoffMs: 5,
  }).download(cid)

describe('a gateway that means ill', () => {
  for (const [what, answer, problem] of doubles) {
    it(`and ${what} gives no blob, and is named with the reason`, async () => {
      const url = await hostile(answer)
      const attemptMs = problem.source.includes('no whole') ? 1_000 : 10_000
      const error = await download([url], attemptMs).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'blob-unavailable', retryable: true })
      expect(String(error)).toMatch(problem)
      expect(String(error)).toContain(url)
    })
  }

  it.each([301, 302, 303, 307, 308])(
    'redirects (%i) makes nobody ask another server',
    async (status) => {
      const inside = await startServer((response) => {
        response.end(blob)
      })
      servers.push(inside)
      const url = await hostile((response, path) =>
        response.writeHead(status, { location: `${inside.url}${path}` }).end(),
      )
      await expect(download([url], 10_000)).rejects.toThrow('redirects elsewhere')
      expect(inside.seen).toEqual([])
    },
  )

  it('sends more than a blob can have, and no more of it is read', async () => {
    const written = Promise.withResolvers<number>()
    const url = await hostile((response) => {
      const { socket } = response
      response.once('close', () => written.resolve(socket?.bytesWritten ?? 0))
      flood(response, '')
    })
    await expect(download([url], 10_000)).rejects.toThrow(/sent more than/)
    const bytes = await written.promise
    expect(bytes).toBeGreaterThan(maxBlobBytes)
    // What was under way in the buffers of both sides counts, too.
    expect(bytes).toBeLessThan(maxBlobBytes * 64)
  })
})

describe(`a real Kubo gateway${kuboNote}`, () => {
  itWithKubo('is the one that gives the blob, behind any of the others', async () => {
    if (!tried) throw new TypeError('There is no Kubo here')
    const { rpcUrl, gatewayUrl } = tried.kubo
    await createKuboBlobs({
      rpcUrl,
      pinName: 'svc-icl test',
      fetch: (request) => fetch(request),
      store: createMemoryStore(),
      clock: systemClock,
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    }).put(cid, blob, { uploader: 'wallet', until: systemClock.now() + 3_600_000 })
    expect(await download([gatewayUrl], 10_000)).toEqual(blob)
    for (const [, answer] of doubles) {
      const url = await hostile(answer)
      expect(await download([url, gatewayUrl], 3_000)).toEqual(blob)
    }
  })

  itWithKubo('that does not have a blob says so soon', async () => {
    if (!tried) throw new TypeError('There is no Kubo here')
    const other = await cidOf(systemRandom.bytes(100))
    const blobs = createGatewayBlobs({
      gateways: [tried.kubo.gatewayUrl],
      fetch: (request) => fetch(request),
      clock: systemClock,
      rounds: 1,
    })
    await expect(blobs.download(other)).rejects.toThrow(/answered 404/)
  })
})
