import { afterAll, describe, expect, it } from 'vitest'
import { openApiDocument } from '../../icl/docs/openapi.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { rawBytes } from '../../lib/endpoint.ts'
import { commonProblems, endpoints } from '../../lib/endpoints.ts'
import { Problem } from '../../lib/problem.ts'
import { problemCodes } from '../../lib/problem-codes.ts'
import { type RequestSigner, signedHeaders } from '../../lib/request-signature.ts'
import { Health } from '../../lib/schemas/network.ts'
import { systemRandom } from '../../lib/system.ts'
import { submit } from '../icl/test-client.ts'
import { createTestIcl, joinNode, origin } from '../icl/test-icl.ts'

const icl = await createTestIcl()
const node = await joinNode(icl, 'n1')
for (const name of ['n2', 'n3']) await joinNode(icl, name)
const job = await submit(icl)
afterAll(() => icl.stop())

const table: [string, Endpoint][] = Object.entries(endpoints)
const signed = table.filter(
  ([, { auth }]) => auth !== 'none' && auth !== 'metrics-token' && auth !== 'console',
)
const withBody = table.filter(([, endpoint]) => endpoint.body !== undefined)

const pathOf = (endpoint: Endpoint, address = node.address): string =>
  endpoint.path
    .replace('{address}', address)
    .replace('{jobId}', job.jobId)
    .replace('{cid}', `bafkrei${'a'.repeat(52)}`)

const signerOf = (endpoint: Endpoint): RequestSigner =>
  endpoint.auth === 'node' ? node.signer : job.client.signer

type Sending = {
  readonly method?: 'HEAD'
  readonly signer?: RequestSigner
  readonly path?: string
  readonly body?: Uint8Array<ArrayBuffer>
  readonly signedBody?: Uint8Array<ArrayBuffer>
  readonly signedOrigin?: string
  readonly age?: number
  readonly type?: string
  readonly coding?: string
  readonly nonce?: Uint8Array
}

const json = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>

/** Sends a request as told, signed or not, and reads its problem. */
async function send(endpoint: Endpoint, how: Sending = {}) {
  const path = how.path ?? pathOf(endpoint)
  const method = how.method ?? endpoint.method
  const isRaw = endpoint.body === rawBytes
  const body = endpoint.body === undefined ? undefined : (how.body ?? json('{}'))
  const headers = new Headers()
  if (body)
    headers.set(
      'content-type',
      how.type ?? (isRaw ? 'application/octet-stream' : 'application/json'),
    )
  if (how.coding) headers.set('content-encoding', how.coding)
  const all = how.signer
    ? await signedHeaders(
        {
          method,
          url: new URL(path, how.signedOrigin ?? origin),
          headers,
          body: how.signedBody ?? body,
        },
        how.signer,
        {
          created: Math.floor(icl.clock.now() / 1000) - (how.age ?? 0),
          nonce: how.nonce ?? systemRandom.bytes(16),
        },
      )
    : headers
  const response = await icl.fetch(
    new Request(new URL(path, origin), { method, headers: all, ...(body && { body }) }),
  )
  // A stream that was let in has no end of its own.
  if (response.ok) await response.body?.cancel()
  const text = response.ok ? '' : await response.text()
  return { ok: response.ok, status: response.status, headers: response.headers, text }
}

/** The code of a refusal, after checking that it is a proper one and documented. */
function codeOf(endpoint: Endpoint, answer: Awaited<ReturnType<typeof send>>): string {
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  const problem = Problem.parse(JSON.parse(answer.text))
  expect(problem.status).toBe(answer.status)
  expect(problemCodes).toHaveProperty(problem.code)
  expect([...endpoint.problems, ...commonProblems]).toContain(problem.code)
  expect(problem.code).not.toBe('internal-error')
  return problem.code
}

describe.each(signed)('%s', (_, endpoint) => {
  it('is refused when the signature was made for another ICL', async () => {
    const how = { signer: signerOf(endpoint), signedOrigin: 'https://relay.test' }
    expect(codeOf(endpoint, await send(endpoint, how))).toBe('signature-invalid')
  })

  it('is refused when the signature is old, or from the future, and tells the time', async () => {
    for (const age of [3_600, -3_600]) {
      const answer = await send(endpoint, { signer: signerOf(endpoint), age })
      expect(codeOf(endpoint, answer)).toBe('signature-stale')
      expect(Problem.parse(JSON.parse(answer.text)).server_time).toBe(
        Math.floor(icl.clock.now() / 1000),
      )
    }
  })

  it('is refused when the body is not the one that was signed', async () => {
    if (endpoint.body === undefined) return
    const how = { signer: signerOf(endpoint), signedBody: json('{"other":1}') }
    expect(codeOf(endpoint, await send(endpoint, how))).toBe('signature-invalid')
  })

  it('is refused when a wallet sends the same request twice', async () => {
    if (endpoint.auth === 'node') return
    const how = { signer: signerOf(endpoint), nonce: systemRandom.bytes(16) }
    await send(endpoint, how)
    expect(codeOf(endpoint, await send(endpoint, how))).toBe('nonce-reused')
  })
})

describe.each(withBody)('the body of %s', (_, endpoint) => {
  it('is refused when its type is another', async () => {
    const answer = await send(endpoint, { signer: signerOf(endpoint), type: 'text/plain' })
    expect(codeOf(endpoint, answer)).toBe('unsupported-media-type')
  })

  it('is refused in another character set or a content encoding', async () => {
    const form = endpoint.body === rawBytes ? 'application/octet-stream' : 'application/json'
    const others = [{ type: `${form}; charset=utf-16` }, { coding: 'gzip' }]
    for (const how of others) {
      const answer = await send(endpoint, { signer: signerOf(endpoint), ...how })
      expect(codeOf(endpoint, answer)).toBe('unsupported-media-type')
    }
    const usual = { signer: signerOf(endpoint), type: `${form}; charset=UTF-8`, coding: 'identity' }
    const answer = await send(endpoint, usual)
    if (!answer.ok) expect(codeOf(endpoint, answer)).not.toBe('unsupported-media-type')
  })

  it('is refused when it is no JSON, or not the documented JSON', async () => {
    if (endpoint.body === rawBytes) return
    for (const text of ['', '{', '[]', 'null', '{}', '\ufeff{}', '{"jobId":1}']) {
      const answer = await send(endpoint, { signer: signerOf(endpoint), body: json(text) })
      expect(codeOf(endpoint, answer)).toBe('invalid-request')
    }
  })
})

describe.each(table.filter(([, { method }]) => method === 'GET'))('HEAD of %s', (_, endpoint) => {
  it('has the status and headers of GET, and no body', async () => {
    const isSigned = endpoint.auth !== 'none'
    for (const path of [
      pathOf(endpoint),
      pathOf(endpoint).replace(job.jobId, `0x${'9'.repeat(64)}`),
    ]) {
      const how = { path, ...(isSigned && { signer: signerOf(endpoint) }) }
      const [whole, head] = [
        await send(endpoint, how),
        await send(endpoint, { ...how, method: 'HEAD' }),
      ]
      expect(head.status).toBe(whole.status)
      expect([...head.headers.keys()]).toEqual([...whole.headers.keys()])
      expect(head.text).toBe('')
    }
  })
})

it('unknown addresses and methods are told apart', async () => {
  const missing = await icl.fetch(new Request(`${origin}/v2/nothing`))
  expect([missing.status, (await missing.json()).code]).toEqual([404, 'not-found'])
  const wrong = await icl.fetch(new Request(`${origin}/health`, { method: 'POST' }))
  expect([wrong.status, (await wrong.json()).code]).toEqual([405, 'method-not-allowed'])
})

it('a path or query that is malformed is refused with its place', async () => {
  const node0 = await icl.fetch(new Request(`${origin}/v1/nodes/0x12`))
  expect([node0.status, (await node0.json()).detail]).toEqual([
    400,
    expect.stringContaining('path.address'),
  ])
  const preview = await icl.fetch(
    new Request(`${origin}/v1/inference/quorum-preview?verifier_count=1`),
  )
  expect([preview.status, (await preview.json()).detail]).toEqual([
    422,
    expect.stringContaining('query.verifier_count'),
  ])
})

it('a body that says a thing twice is refused, since readers take one or the other', async () => {
  const beat = `"operator_address":"${node.address}","timestamp":1,"version":"0","supported_model_ids":[]`
  const post = (slots: string) =>
    send(endpoints.postHeartbeat, { signer: node.signer, body: json(`{${beat},${slots}}`) })
  expect((await post('"free_slots":1')).status).toBe(200)
  for (const name of ['free_slots', 'free\\u005fslots']) {
    const answer = await post(`"free_slots":1,"${name}":1`)
    expect(codeOf(endpoints.postHeartbeat, answer)).toBe('invalid-request')
    expect(answer.text).toContain('two members of one name')
  }
})

it('a body that is nested too deep is refused as such, however deep', async () => {
  const nested = (depth: number) =>
    send(endpoints.postHeartbeat, {
      signer: node.signer,
      body: json(`{"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`),
    })
  for (const depth of [65, 5_000, 100_000]) {
    const answer = await nested(depth)
    expect(codeOf(endpoints.postHeartbeat, answer)).toBe('invalid-request')
    expect(answer.text).toContain('64 deep')
  }
  expect((await nested(64)).text).not.toContain('deep')
})

it('a number in a query has one spelling', async () => {
  for (const tier of ['0x1', '1e0', '', '0.5', '-1', '+1', '01', ' 1', '256']) {
    const query = new URLSearchParams({ min_tier: tier })
    const response = await icl.fetch(new Request(`${origin}/v1/nodes/active?${query}`))
    expect([tier, response.status, (await response.json()).detail]).toEqual([
      ...[tier, 422, expect.stringContaining('query.min_tier')],
    ])
  }
})

it.each(['/openapi.json', '/v1/network', '/.well-known/jwks.json'])(
  '%s is sent again only to a caller that has another',
  async (path) => {
    const get = (tag: string) =>
      icl.fetch(new Request(origin + path, { headers: { 'if-none-match': tag } }))
    const first = await get('"other"')
    const text = await first.text()
    const tag = first.headers.get('etag') ?? ''
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    for (const known of [tag, `"other", ${tag}`, `W/${tag}`, '*']) {
      const again = await get(known)
      expect([known, again.status, await again.text()]).toEqual([known, 304, ''])
      expect(again.headers.get('etag')).toBe(tag)
      expect(again.headers.has('x-request-id')).toBe(true)
    }
    const whole = await get(`"${tag.length}"`)
    expect([whole.status, await whole.text()]).toEqual([200, text])
  },
)

it('health has exactly the documented fields', async () => {
  const health = (await (await icl.fetch(new Request(`${origin}/health`))).json()) as object
  expect(health).toEqual({ status: 'ok', chain_connected: true, mongo_connected: false })
  icl.chain.down = new Error('away')
  const remembered = await (await icl.fetch(new Request(`${origin}/health`))).json()
  expect(Health.parse(remembered).chain_connected).toBe(true)
  await icl.clock.advance(500)
  const down = await (await icl.fetch(new Request(`${origin}/health`))).json()
  icl.chain.down = undefined
  expect(Health.parse(down).chain_connected).toBe(false)
})

it('every answer carries its request id, and no error shows what failed inside', async () => {
  icl.chain.down = new Error('secret detail')
  const response = await icl.fetch(
    new Request(`${origin}/v1/inference/quorum-preview?model_id=openai:test`),
  )
  icl.chain.down = undefined
  const text = await response.text()
  expect(text).not.toContain('secret detail')
  expect(response.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9_-]{12}$/)
})

type OperationObject = {
  readonly operationId: keyof typeof endpoints
  readonly responses: Readonly<Record<string, { readonly 'x-problem-codes'?: readonly string[] }>>
}

describe('the OpenAPI document', () => {
  const document = openApiDocument('1.2.3', origin)

  it('describes every endpoint', () => {
    const described = Object.values(document.paths).flatMap((operations) =>
      Object.values(operations).map(
        (operation) => (operation as { operationId: string }).operationId,
      ),
    )
    expect(new Set(described)).toEqual(new Set(Object.keys(endpoints)))
  })

  it('refers only to schemas that it has', () => {
    const text = JSON.stringify(document)
    const names = [...text.matchAll(/#\/components\/schemas\/([A-Za-z0-9]+)/g)].map(
      ([, name]) => name!,
    )
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) expect(document.components.schemas).toHaveProperty(name)
    expect(text).not.toContain('#/$defs/')
  })

  it('names each problem of an operation, those of all operations once', () => {
    const { 'x-problem-codes': common } = document.components.responses.CommonProblem as {
      'x-problem-codes': readonly string[]
    }
    expect(common).toEqual(expect.arrayContaining([...commonProblems]))
    for (const operations of Object.values(document.paths)) {
      for (const { operationId, responses } of Object.values(operations) as OperationObject[]) {
        const { default: others, ...own } = responses
        expect(others).toEqual({ $ref: '#/components/responses/CommonProblem' })
        const listed = Object.values(own).flatMap((answer) => answer['x-problem-codes'] ?? [])
        expect(listed.filter((code) => code !== 'unavailable' && common.includes(code))).toEqual([])
        const { problems } = endpoints[operationId]
        expect([...listed, ...common]).toEqual(expect.arrayContaining([...problems]))
      }
    }
  })

  it('is served as it is rendered', async () => {
    const served = await (await icl.fetch(new Request(`${origin}/openapi.json`))).json()
    expect(served).toEqual(JSON.parse(JSON.stringify(openApiDocument('0.0.0', origin))))
  })
})
