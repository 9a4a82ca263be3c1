import { describe, expect, it } from 'vitest'
import { createApi } from '../../lib/api.ts'
import { type Clock, monotonicMs } from '../../lib/clock.ts'
import { fromBase64Url } from '../../lib/digest.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { parseSignature } from '../../lib/http-signature.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'
import { sampleNetwork } from '../sample-network.ts'

const jobId = `0x${'1'.repeat(64)}` as const
const cid = `bafkrei${'a'.repeat(52)}`
const nowMs = 1_800_000_000_900
const nowSeconds = 1_800_000_000

const key = await signingKeyFromSeed(new Uint8Array(32).fill(1))
const node: RequestSigner = { kind: 'node', address: nodeAddress('a'), key }
const wallet = {
  ...{ kind: 'wallet', address: nodeAddress('b'), chainId: 5 },
  signMessage: async () => '0x1234',
} as const satisfies RequestSigner

/** Waits that take no time; those for more than `longestMs` never end. */
function createWaits(longestMs = 10_000) {
  const waits: number[] = []
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => monotonicMs(nowMs),
    sleep: (ms, signal) => {
      waits.push(ms)
      if (ms <= longestMs) return Promise.resolve()
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    },
  }
  return { clock, waits }
}

type Answer = Response | Error | (() => Promise<Response>)

/** An API whose ICL gives these answers, the last one again and again. */
function apiOf(answers: readonly Answer[], signer?: RequestSigner, longestMs?: number) {
  const requests: Request[] = []
  const { clock, waits } = createWaits(longestMs)
  const fetch: Fetch = async (request) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)]!
    requests.push(request)
    if (answer instanceof Error) throw answer
    return answer instanceof Response ? answer.clone() : answer()
  }
  const random = { bytes: (length: number) => new Uint8Array(length).fill(7) }
  const base = { baseUrl: 'https://icl.test/', fetch, clock, random }
  const api = createApi({ ...base, ...(signer && { signer }) })
  return { api, requests, waits }
}

const json = (value: unknown, init?: ResponseInit) => new Response(JSON.stringify(value), init)
const problem = (code: string, status: number, more: object = {}, headers = {}) =>
  json(
    { type: 'about:blank', title: 'The title', status, code, retryable: false, ...more },
    { status, headers },
  )
const failureOf = async (call: Promise<unknown>) => {
  const error: unknown = await call.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  if (error instanceof ProblemError || error instanceof SvcError) return error
  throw new TypeError(`no error of ours: ${error}`)
}

const live = { status: 'ok' } as const
const models = { models: [{ model_id: 'openai:test', nodes: 3 }] }
const list = {
  body: {
    ...{ statement: 'svc-list-v2' as const, client: nodeAddress('c'), passed: [], at: 4 },
    ...{ kpHighHandle: 1n, kpLowHandle: 2n, coordinator: nodeAddress('d') },
    terms: {
      ...{ icl_origin: 'https://icl.test', pool_cid: cid, model_id: 'openai:test', min_tier: 0 },
      ...{ comparator: 'exact' as const, rule: 'three' as const, quorum: 3 },
      ...{ max_answers: 7, min_matches: 1, list_length: 9 },
      salt: 'A'.repeat(43),
    },
    block: { number: 7n, hash: aHash(`0x${'2'.repeat(64)}`) },
    list: ['1', '2', '3'].map(nodeAddress),
  },
  key: (await signingKeyFromSeed(new Uint8Array(32).fill(1))).publicKey,
  signature: `${'A'.repeat(85)}A`,
}
const submission = {
  ...{ model_id: 'openai:test', prompt_cid: cid, kpHighHandle: 1n, kpLowHandle: 2n },
  ...{ list, until: 5, client_nonce: 3n },
}
const submitted = { jobId, status: 'open', read_token: 'secret' }

describe('a call to the ICL', () => {
  it('puts its input where the endpoint has it, and reads the answer', async () => {
    const { api, requests } = apiOf([json(submitted)], wallet)
    expect(await api.submitJob({ body: submission })).toEqual(submitted)
    const [request] = requests
    expect([request?.method, request?.url]).toEqual(['POST', 'https://icl.test/v1/inference'])
    expect(request?.redirect).toBe('manual')
    expect(request?.headers.get('content-type')).toBe('application/json')
    expect(await request?.json()).toEqual({
      ...submission,
      ...{ kpHighHandle: '1', kpLowHandle: '2', client_nonce: '3' },
      list: {
        ...list,
        body: {
          ...list.body,
          ...{ kpHighHandle: '1', kpLowHandle: '2' },
          block: { ...list.body.block, number: '7' },
        },
      },
    })
  })

  it('takes no redirect for an answer, and does not follow it', async () => {
    const redirect = new Response('{}', { status: 307, headers: { location: 'https://b.test/' } })
    const { api, requests } = apiOf([redirect])
    await expect(api.submitJob({ body: submission })).rejects.toMatchObject({
      code: 'icl-unreachable',
      cause: { kind: 'redirect' },
    })
    expect(requests).toHaveLength(1)
  })

  it('puts parts into its path and its query, and leaves out what is undefined', async () => {
    const { api, requests } = apiOf([json({ nodes: [], next_cursor: null })])
    await api.getActiveNodes({ query: { model_id: 'a:b/c', min_tier: 2, cursor: undefined } })
    await api.getActiveNodes({ query: { min_tier: 0 } })
    expect(requests.map(({ url }) => url)).toEqual([
      'https://icl.test/v1/nodes/active?model_id=a%3Ab%2Fc&min_tier=2',
      'https://icl.test/v1/nodes/active?min_tier=0',
    ])
    expect(requests[0]?.headers.has('content-type')).toBe(false)
    expect(requests[0]?.body ?? null).toBeNull()
    const blobs = apiOf([new Response(Uint8Array.of(1, 2))])
    expect(await blobs.api.getBlob({ params: { cid } })).toEqual(Uint8Array.of(1, 2))
    expect(blobs.requests[0]?.url).toBe(`https://icl.test/ipfs/${cid}`)
  })

  it('sends bytes as they are', async () => {
    const { api, requests } = apiOf([json({ cid })], node)
    expect(await api.putBlob({ query: {}, body: Uint8Array.of(5, 6) })).toEqual({ cid })
    const [request] = requests
    expect(request?.headers.get('content-type')).toBe('application/octet-stream')
    expect(request?.headers.get('content-digest')).toMatch(/^sha-256=:/)
    expect(new Uint8Array(await request!.arrayBuffer())).toEqual(Uint8Array.of(5, 6))
  })

  it('gives a stream or a text as the response that it is', async () => {
    const { api } = apiOf([new Response('data: 1\n\n')])
    expect(await (await api.followJob({ params: { jobId: aJobId(jobId) } })).text()).toBe(
      'data: 1\n\n',
    )
    const refused = apiOf([problem('job-not-found', 404)])
    const error = await failureOf(refused.api.followJob({ params: { jobId: aJobId(jobId) } }))
    expect(error.code).toBe('job-not-found')
  })

  it('is not sent with input that has another form', async () => {
    const { api, requests } = apiOf([json(submitted)])
    const error = await failureOf(api.submitJob({ body: { ...submission, model_id: 'none' } }))
    expect(error).toMatchObject({ code: 'request-invalid', retryable: false })
    expect(error.message).toContain('The request POST /v1/inference was not sent: ')
    expect(error.message).toContain('must be <provider>:<model_name>')
    expect((error as SvcError).hint).toBe('Correct what was given.')
    expect(requests).toEqual([])
  })
})

describe('a signature', () => {
  it('is the signer’s, of now, where the endpoint asks for one', async () => {
    const { api, requests } = apiOf([json(submitted)], wallet)
    await api.submitJob({ body: submission })
    const [{ method, url, headers }] = requests as [Request]
    const parsed = parseSignature({ method, url: new URL(url), headers, hasBody: true }, 'eth')
    expect(parsed).toMatchObject({
      ...{ keyId: `erc8128:5:${wallet.address}`, created: nowSeconds, expires: nowSeconds + 60 },
    })
    expect(fromBase64Url(parsed!.nonce!)).toEqual(new Uint8Array(16).fill(7))
  })

  it('is left out where nobody asks for it, where there is no signer, and for a read token', async () => {
    const open = apiOf([json(models)], wallet)
    await open.api.getModels()
    expect(open.requests[0]?.headers.has('signature')).toBe(false)
    const unsigned = apiOf([json(submitted)])
    await unsigned.api.submitJob({ body: submission })
    expect(unsigned.requests[0]?.headers.has('signature')).toBe(false)
    const reader = apiOf([new Response('')], wallet)
    await reader.api.followJob(
      { params: { jobId: aJobId(jobId) } },
      { readToken: 'secret', lastEventId: '7' },
    )
    const { headers } = reader.requests[0]!
    expect([headers.get('authorization'), headers.get('last-event-id')]).toEqual([
      'Bearer secret',
      '7',
    ])
    expect(headers.has('signature')).toBe(false)
    await reader.api.followJob({ params: { jobId: aJobId(jobId) } })
    const signed = reader.requests[1]!.headers
    expect([signed.has('signature'), signed.has('authorization')]).toEqual([true, false])
    expect(signed.has('last-event-id')).toBe(false)
  })

  it('that is stale is made again by the clock of the ICL, once, and so are those after it', async () => {
    const stale = problem('signature-stale', 401, { server_time: nowSeconds + 100 })
    const { api, requests } = apiOf([stale, json(submitted)], node)
    await api.submitJob({ body: submission })
    await api.submitJob({ body: submission })
    const created = requests.map(({ headers }) =>
      Number(/created=(\d+)/.exec(headers.get('signature-input') ?? '')?.[1]),
    )
    expect(created).toEqual([nowSeconds, nowSeconds + 100, nowSeconds + 100])
    const always = apiOf([stale], node)
    const error = await failureOf(always.api.submitJob({ body: submission }))
    expect([error.code, always.requests.length]).toEqual(['signature-stale', 2])
    const untold = apiOf([problem('signature-stale', 401)], node)
    await failureOf(untold.api.submitJob({ body: submission }))
    expect(untold.requests).toHaveLength(1)
    const other = apiOf([problem('signature-invalid', 401, { server_time: 1 })], node)
    await failureOf(other.api.submitJob({ body: submission }))
    expect(other.requests).toHaveLength(1)
  })
})

describe('an answer that is a problem', () => {
  it('is thrown with its code, its detail or else its title, and the clock of the ICL', async () => {
    const call = (answer: Response) => failureOf(apiOf([answer]).api.getModels())
    const detailed = await call(problem('rate-limited', 429, { detail: 'Too many' }))
    expect(detailed).toBeInstanceOf(ProblemError)
    expect(detailed).toMatchObject({ code: 'rate-limited', message: 'Too many', retryable: true })
    expect(detailed).toMatchObject({ serverTime: undefined, retryAfterSeconds: undefined })
    const titled = await call(problem('invalid-request', 400, { server_time: 5 }))
    expect(titled).toMatchObject({ message: 'The title', serverTime: 5, retryable: false })
  })

  it.each([
    ['7', 7],
    ['-3', 0],
    ['9999', 9_999],
    ['999999', 86_400],
    ['0', 0],
    ['soon', undefined],
  ])('may ask to wait: %s', async (after, seconds) => {
    const answer = problem('rate-limited', 429, {}, { 'retry-after': after })
    const error = await failureOf(apiOf([answer]).api.getModels())
    expect((error as ProblemError).retryAfterSeconds).toBe(seconds)
  })

  it.each([
    ['no JSON', new Response('<html>', { status: 404 }), 404, false],
    ['no problem', json({ error: 'no' }, { status: 499 }), 499, false],
    ['a code that is not known', problem('from-the-future', 500), 500, true],
    ['no answer of an ICL', new Response('', { status: 502 }), 502, true],
    ['the limit of a proxy', new Response('', { status: 429 }), 429, true],
  ])('but has %s is named as such', async (_, answer, status, retryable) => {
    const error = await failureOf(apiOf([answer]).api.getModels())
    expect(error).toMatchObject({
      ...{ code: 'icl-unexpected-answer', retryable },
      message: `The ICL answered ${status} without a known problem`,
      hint: expect.stringContaining('Check that the ICL address is right'),
    })
  })
})

describe('an answer of another form', () => {
  it('is refused, and asked for again only when it was cut off', async () => {
    const other = await failureOf(apiOf([json({ models: 5 })]).api.getModels())
    expect(other).toMatchObject({ code: 'icl-unexpected-answer', retryable: false })
    expect(other.message).toContain("The ICL's answer to GET /v1/models has another form: ")
    expect(other.message).toContain('expected array')
    const cut = await failureOf(apiOf([new Response('{"models":[')]).api.getModels())
    expect(cut).toMatchObject({ code: 'icl-unexpected-answer', retryable: true })
    expect((cut as SvcError).hint).toContain('Check that the ICL address is right')
  })

  it('may hold a blob of the largest size, and not much more', async () => {
    const largest = apiOf([new Response(new Uint8Array(maxBlobBytes + 1024))])
    expect(await largest.api.getBlob({ params: { cid } })).toHaveLength(maxBlobBytes + 1024)
    // Not a clone: giving up on one of two copies waits for the other.
    const larger = apiOf([async () => new Response(new Uint8Array(maxBlobBytes + 1025))])
    const error = await failureOf(larger.api.getBlob({ params: { cid } }))
    expect(error.code).toBe('icl-unexpected-answer')
    expect(error.message).toContain('sent more than')
  })
})

describe('an ICL that does not answer', () => {
  it('is unreachable, which may pass', async () => {
    const cause = new TypeError('fetch failed', { cause: new Error('self signed certificate') })
    const { api, requests } = apiOf([cause])
    const error = await failureOf(api.getModels())
    expect(error).toMatchObject({
      ...{ code: 'icl-unreachable', retryable: true, cause },
      message: 'The call to the ICL at https://icl.test/ failed (self signed certificate)',
      hint: 'Check the network and the ICL address (SVC_ICL_ENDPOINT).',
    })
    expect(requests).toHaveLength(1)
    // What Node throws of a host with two addresses.
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    const twice = apiOf([new TypeError('fetch failed', { cause: refused })])
    expect((await failureOf(twice.api.getModels())).message).toMatch(/failed \(ECONNREFUSED\)$/)
  })

  it('is perhaps one that does not allow the page', async () => {
    const hintAt = async (page: string) => {
      Object.defineProperty(globalThis, 'location', { value: { origin: page }, configurable: true })
      try {
        const error = await failureOf(apiOf([new TypeError('Failed to fetch')]).api.getModels())
        return (error as SvcError).hint
      } finally {
        Reflect.deleteProperty(globalThis, 'location')
      }
    }
    expect(await hintAt('https://app.test')).toContain('SVC_ICL_ALLOW_ORIGINS=https://app.test.')
    expect(await hintAt('null')).toContain('SVC_ICL_ALLOW_ORIGINS=*.')
    expect(await hintAt('https://icl.test')).not.toContain('SVC_ICL_ALLOW_ORIGINS')
  })

  it('is given 15 s, or what the call says, and a person time to sign', async () => {
    const never = () => new Promise<Response>(() => {})
    const timesOut = async (signer: RequestSigner | undefined, ...args: readonly unknown[]) => {
      const { api, waits } = apiOf([never], signer, 100_000)
      const call = api.submitJob as (...all: readonly unknown[]) => Promise<unknown>
      const error = await failureOf(call({ body: submission }, ...args))
      expect(error).toMatchObject({ code: 'icl-unreachable', retryable: true })
      expect(error.message).toBe('The call to the ICL at https://icl.test/ timed out')
      return waits
    }
    expect(await timesOut(undefined)).toEqual([15_000])
    expect(await timesOut(wallet, { timeoutMs: 300 })).toEqual([300])
    expect(await timesOut({ ...wallet, signingMs: 40_000 }, { readToken: 't' })).toEqual([15_000])
    const { api, waits } = apiOf([json(live)], { ...wallet, signingMs: 40_000 }, 0)
    await api.getLiveness()
    expect(waits).toEqual([15_000])
  })

  it('is not blamed for a wallet whose user does not sign', async () => {
    const idle: RequestSigner = {
      ...wallet,
      signingMs: 40_000,
      signMessage: () => new Promise(() => {}),
    }
    const { api, requests, waits } = apiOf([json(live)], idle, 100_000)
    const error = await failureOf(api.submitJob({ body: submission }, { attempts: 3 }))
    expect(error).toMatchObject({ code: 'wallet-silent', retryable: false })
    expect([requests, waits]).toEqual([[], [55_000]])
  })

  it('is asked as often as the call says, with waits that double or that it asked for', async () => {
    const busy = problem('rate-limited', 429, {}, { 'retry-after': '3' })
    const cases: [Answer, number[]][] = [
      [new TypeError('refused'), [250, 500, 1_000, 2_000, 4_000, 5_000]],
      [problem('unavailable', 503), [250, 500, 1_000, 2_000, 4_000, 5_000]],
      [busy, [3_000, 3_000, 3_000, 3_000, 4_000, 5_000]],
      [problem('invalid-request', 400), []],
      [json({ models: 5 }), []],
    ]
    for (const [answer, expected] of cases) {
      const { api, requests, waits } = apiOf([answer])
      await failureOf(api.getModels({}, { attempts: 7, timeoutMs: 99_999 }))
      expect(waits.filter((ms) => ms !== 99_999)).toEqual(expected)
      expect(requests).toHaveLength(expected.length + 1)
    }
    const { api, requests } = apiOf([new TypeError('refused'), json(models)])
    expect(await api.getModels({}, { attempts: 2 })).toEqual(models)
    expect(requests).toHaveLength(2)
  })

  it('is waited for, however often it has too much to do, when the call says so', async () => {
    const busy = problem('rate-limited', 429, {}, { 'retry-after': '3' })
    const queued = problem('draw-queued', 429, { queue: { place: 2, waiting: 7 } })
    const { api, waits } = apiOf([busy, busy, busy, queued, json(models)])
    const told: (ProblemError['queue'] | string)[] = []
    const onLoad = ({ code, queue }: ProblemError) => told.push(queue ?? code)
    expect(await api.getModels({}, { onLoad })).toEqual(models)
    expect(told).toEqual([...Array(3).fill('rate-limited'), { place: 2, waiting: 7 }])
    expect(waits.filter((ms) => ms < 15_000)).toEqual([3_000, 3_000, 3_000, 1_000])
  })

  it('is not asked again for a model that its nodes do not offer, for however long', async () => {
    for (const [code, status] of [
      ['model-limited', 429],
      ['model-withdrawn', 503],
    ] as const) {
      const { api, requests } = apiOf([problem(code, status, {}, { 'retry-after': '3600' })])
      const asked = api.getModels({}, { attempts: 6, onLoad: () => {} })
      await expect(asked).rejects.toMatchObject({ code, retryAfterSeconds: 3_600 })
      expect(requests).toHaveLength(1)
    }
  })

  it('is left alone when the caller has given up', async () => {
    const reason = new Error('enough')
    const early = apiOf([json(models)])
    await expect(
      early.api.getModels({}, { signal: AbortSignal.abort(reason), attempts: 3 }),
    ).rejects.toBe(reason)
    expect(early.requests).toEqual([])
    const controller = new AbortController()
    const failing = async () => {
      controller.abort(reason)
      throw new TypeError('aborted')
    }
    const late = apiOf([failing], undefined, 0)
    const call = late.api.getModels({}, { signal: controller.signal, attempts: 3 })
    await expect(call).rejects.toBe(reason)
    expect(late.requests).toHaveLength(1)
  })
})

it('the network that an ICL describes is read as it was written', async () => {
  const network = sampleNetwork()
  expect(await apiOf([json(network)]).api.getNetwork()).toEqual(network)
})
