import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { createGatewayBlobs } from '../../../lib/blobs/gateways.ts'
import { cidOf } from '../../../lib/cid.ts'
import { maxBlobBytes } from '../../../lib/endpoints.ts'
import { systemClock } from '../../../lib/system.ts'
import { type LocalServer, startServer } from '../../local-server.ts'

const blob = new Uint8Array(1_000).map((_, index) => index % 251)
const cid = await cidOf(blob)
let server: LocalServer
afterEach(() => server.close())

const failing = (status: number) => (response: ServerResponse) => {
  response.writeHead(status)
  response.end('no')
}

/** Enough for who answers at all, on a busy machine, too. */
const patientMs = 20_000

const download = async (answer: (response: ServerResponse) => void, attemptMs = patientMs) => {
  server = await startServer(answer)
  return await createGatewayBlobs({
    gateways: [server.url],
    fetch: (request) => fetch(request),
    clock: systemClock,
    attemptMs,
    rounds: 3,
    firstBackoffMs: 5,
  }).download(cid)
}

// In which order gateways are asked, and how often, is in gateway-rounds.test.ts.
describe('downloading a blob', () => {
  it('gives the bytes that hash to the CID', async () => {
    expect(await download((response) => response.end(blob))).toEqual(blob)
    expect(server.seen[0]?.path).toBe(`/ipfs/${cid}`)
  })

  it.each<[string, (response: ServerResponse) => void, RegExp, number]>([
    ['does not have it', failing(404), /answered 404/, patientMs],
    ['limits requests', failing(429), /answered 429/, patientMs],
    ['fails', failing(500), /answered 500/, patientMs],
    [
      'sends other bytes',
      (response) => response.end('tampered'),
      /do not hash to the CID/,
      patientMs,
    ],
    [
      'sends too much',
      (response) => response.end(Buffer.alloc(maxBlobBytes + 1)),
      /more than/,
      patientMs,
    ],
    ['is silent', () => {}, /no whole answer/, 100],
    ['stalls', (response) => response.write(blob.slice(0, 10)), /no whole answer/, 100],
    ['hangs up', (response) => response.destroy(), /cannot be reached/, patientMs],
  ])('says so when the gateway %s', async (_, answer, problem, attemptMs) => {
    const error = await download(answer, attemptMs).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'blob-unavailable', retryable: true })
    expect((error as Error).message).toMatch(problem)
  })
})
