import { describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { type AllowedOrigins, openAccess } from '../../icl/rules/access.ts'
import { ProblemError } from '../../lib/problem.ts'
import { signedHeaders } from '../../lib/request-signature.ts'
import { icl, startIcl } from '../icl/fresh-icl.ts'
import { submit } from '../icl/test-client.ts'
import { joinNodes, origin, walletOf } from '../icl/test-icl.ts'

const page = 'https://app.example'
const stranger = 'https://stranger.example'

/** Calls an ICL that allows these origins, as a page of one. */
async function allowing(origins: AllowedOrigins, requests = 1_000) {
  await startIcl()
  const rates = { address: { requests, seconds: 60 } }
  const app = createApp({ ...icl.deps, access: { ...openAccess, origins, rates } })
  return async (path: string, from: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('origin', from)
    return app.fetch(new Request(`${origin}${path}`, { ...init, headers }))
  }
}

const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } }
const allowedIn = ({ headers }: Response) => headers.get('access-control-allow-origin')
const namesIn = ({ headers }: Response, name: string) => headers.get(name)?.split(', ') ?? []

const publicPaths = ['/health', '/v1/network', '/v1/models', '/.well-known/jwks.json', '/ipfs/b']
const closedPaths = [
  ...['/', '/livez', '/readyz', '/metrics', '/docs', '/openapi.json', '/console', '/healthy'],
  ...['/v1/console/overview', '/v1/%63onsole/overview', '/internal/heartbeat'],
  `/internal/challenge/${walletOf('n1').address}`,
]

describe('a page of another origin', () => {
  it.each([
    ['no origin', []],
    ['one other origin', [page]],
  ])('reads nothing from an ICL that allows %s', async (_, origins) => {
    const call = await allowing(origins)
    for (const path of [...publicPaths, ...closedPaths]) {
      expect([path, allowedIn(await call(path, stranger))]).toEqual([path, null])
      const refused = await call(path, stranger, preflight)
      expect([path, allowedIn(refused), refused.ok]).toEqual([path, null, false])
    }
  })

  it.each([
    ['it', [stranger, page], page],
    ['all', '*', '*'],
  ] as const)('reads the public paths alone if the ICL allows %s', async (_, origins, shown) => {
    const call = await allowing(origins)
    for (const path of publicPaths) {
      const response = await call(path, page)
      expect([path, allowedIn(response)]).toEqual([path, shown])
      expect(response.headers.get('vary')).toBe(origins === '*' ? null : 'Origin')
      expect(response.headers.has('access-control-allow-credentials')).toBe(false)
    }
    for (const path of closedPaths) {
      expect([path, allowedIn(await call(path, page))]).toEqual([path, null])
      expect([path, (await call(path, page, preflight)).ok]).toEqual([path, false])
    }
  })

  it('may send each header that a client sends, and read each that it reads', async () => {
    const call = await allowing([page], 1)
    const sent = await signedHeaders(
      {
        method: 'POST',
        url: new URL(origin),
        headers: new Headers({ 'content-type': 'application/json' }),
        body: new Uint8Array(1),
      },
      walletOf('client').signer,
      { created: 1, nonce: new Uint8Array(16) },
    )
    // More preflights than the address may send requests.
    await call('/v1/inference', page, preflight)
    const allowed = await call('/v1/inference', page, preflight)
    expect([allowed.status, allowedIn(allowed)]).toEqual([204, page])
    expect(namesIn(allowed, 'access-control-allow-methods')).toEqual(
      expect.arrayContaining(['GET', 'POST']),
    )
    expect(namesIn(allowed, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining([...sent.keys(), 'authorization', 'last-event-id']),
    )
    await call('/v1/models', page)
    const refused = await call('/v1/models', page)
    expect([refused.status, allowedIn(refused)]).toEqual([429, page])
    const shown = namesIn(refused, 'access-control-expose-headers')
    expect(shown).toEqual(expect.arrayContaining(['retry-after', 'ratelimit', 'x-request-id']))
    for (const name of ['retry-after', 'ratelimit', 'x-request-id']) {
      expect(refused.headers.has(name)).toBe(true)
    }
  })

  it.each([
    [422, '/v1/models?model_id=a&model_id=b', {}],
    [401, '/v1/inference', {}],
    [404, '/v1/nothing', {}],
    [400, '/ipfs/b', {}],
    [405, '/v1/models', { method: 'DELETE' }],
    [431, '/v1/models', { headers: { 'x-long': 'x'.repeat(9_000) } }],
  ])('reads the problem of a response with %i', async (status, path, init) => {
    const call = await allowing([page])
    const response = await call(path, page, init)
    expect([response.status, allowedIn(response)]).toEqual([status, page])
    expect(response.headers.get('content-type')).toBe('application/problem+json')
  })

  it('reads that a save failed, and that nothing has changed', async () => {
    const call = await allowing([page])
    const { store } = icl.deps
    const etag = (await call('/v1/network', page)).headers.get('etag') ?? ''
    const same = await call('/v1/network', page, { headers: { 'if-none-match': etag } })
    expect([same.status, allowedIn(same)]).toEqual([304, page])
    const commits = { ...store.commits, barrier: () => () => Promise.reject(lost()) }
    const app = createApp({
      ...icl.deps,
      store: { ...store, commits },
      access: { ...openAccess, origins: [page] },
    })
    const request = new Request(`${origin}/v1/network`, { headers: { origin: page } })
    const failed = await app.fetch(request)
    expect([failed.status, allowedIn(failed)]).toEqual([503, page])
  })

  it('reads an event stream', async () => {
    const call = await allowing('*')
    await joinNodes(icl, 3)
    const { jobId, readToken } = await submit(icl)
    const response = await call(`/v1/inference/${jobId}/events`, page, {
      headers: { authorization: `Bearer ${readToken}` },
    })
    expect([response.status, allowedIn(response)]).toEqual([200, '*'])
    await response.body?.cancel()
  })
})

const lost = () => new ProblemError('unavailable', 'lost')
