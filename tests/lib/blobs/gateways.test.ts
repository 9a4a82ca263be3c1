import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { createGatewayBlobs } from '../../../lib/blobs/gateways.ts'
import { cidOf } from '../../../lib/cid.ts'
import { maxBlobBytes } from '../../../lib/endpoints.ts'
import { systemClock } from '../../../lib/system.ts'
import { type LocalServer, startServer } from '../../local-server.ts'

const blob = new Uint8Array(1_000).map((_, index) => index % 251)
const cid = await cidOf(blob)
const servers: LocalServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function gateway(answer: (response: ServerResponse, count: number) => void) {
  const server = await startServer((response, _, count) => answer(response, count))
  servers.push(server)
  return server
}

const good = (response: ServerResponse) => void response.end(blob)
const failing =
  (status: number, headers = {}) =>
  (response: ServerResponse) => {
    response.writeHead(status, headers)
    response.end('no')
  }

/** Enough for who answers at all, on a busy machine, too. */
const patientMs = 20_000

const download = (
  gateways: readonly LocalServer[],
  { signal, attemptMs = patientMs }: { signal?: AbortSignal; attemptMs?: number | undefined } = {},
) =>
  createGatewayBlobs({
    gateways: gateways.map(({ url }) => url),
    fetch: (request) => fetch(request),
    clock: systemClock,
    attemptMs,
    rounds: 3,
    firstBackoffMs: 5,
  }).download(cid, signal)

describe('downloading a blob', () => {
  it('gives the bytes that hash to the CID', async () => {
    const server = await gateway(good)
    expect(await download([server])).toEqual(blob)
    expect(server.seen[0]?.path).toBe(`/ipfs/${cid}`)
  })

  it('waits for a CID that has not spread yet', async () => {
    const server = await gateway((response, count) =>
      count < 3 ? failing(404)(response) : good(response),
    )
    expect(await download([server])).toEqual(blob)
  })

  it('comes back to a gateway that limits requests', async () => {
    const server = await gateway((response, count) =>
      count === 1 ? failing(429, { 'retry-after': '1' })(response) : good(response),
    )
    const startedAt = systemClock.now()
    expect(await download([server])).toEqual(blob)
    expect(systemClock.now() - startedAt).toBeGreaterThanOrEqual(950)
  })

  const bad: readonly [string, (response: ServerResponse) => void, RegExp, number?][] = [
    ['does not have it', failing(404), /answered 404/],
    ['limits requests', failing(429), /answered 429/],
    ['fails', failing(500), /answered 500/],
    ['sends other bytes', (response) => response.end('tampered'), /do not hash to the CID/],
    ['sends too much', (response) => response.end(Buffer.alloc(maxBlobBytes + 1)), /more than/],
    ['is silent', () => {}, /no whole answer/, 500],
    ['stalls', (response) => response.write(blob.slice(0, 10)), /no whole answer/, 500],
    ['hangs up', (response) => response.destroy(), /cannot be reached/],
  ]
  for (const [what, answer, problem, attemptMs] of bad) {
    it(`takes the next gateway when one ${what}`, async () => {
      const [first, second] = [await gateway(answer), await gateway(good)]
      expect(await download([first, second], { attemptMs })).toEqual(blob)
    })

    it(`says so when the only gateway ${what}`, async () => {
      const error = await download([await gateway(answer)], { attemptMs }).catch(
        (reason: unknown) => reason,
      )
      expect(error).toMatchObject({ code: 'blob-unavailable', retryable: true })
      expect((error as Error).message).toMatch(problem)
    })
  }

  it('asks a gateway that lied only once', async () => {
    const liar = await gateway((response) => response.end('tampered'))
    await download([liar]).catch(() => {})
    expect(liar.seen).toHaveLength(1)
  })

  it('ends when the job ends', async () => {
    const server = await gateway(() => {})
    const work = download([server], { signal: AbortSignal.timeout(20) })
    await expect(work).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
