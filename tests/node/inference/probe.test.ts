import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { promptOfText } from '../../../lib/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { probeProvider } from '../../../node/inference/probe.ts'
import { findProvider } from '../../../node/inference/providers.ts'
import { answerJson, type LocalServer, type Seen, startServer } from '../../local-server.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { recordingLog } from '../fakes.ts'

const key = 'sk-test-do-not-show'
const log = recordingLog()
/** Who asks, and by which API. */
const identity = ({ headers }: Seen) =>
  Object.entries(headers).filter(([name]) => /auth|key|version|openai|org|cookie/.test(name))
const deps = { fetch: (request: Request) => fetch(request), clock: systemClock }
let server: LocalServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

const at = (base_url: string, name = 'ollama') =>
  findProvider(name, { providers: { [name]: { base_url, allow_http: false } } })

/** What the probe says of a server: models, or an error as `code: message -> hint`. */
async function probe(
  answer: (response: ServerResponse, request: Seen) => void,
  path = '',
  apiKey: string | undefined = key,
  name?: string,
) {
  server = await startServer(answer)
  const work = probeProvider(at(`${server.url}${path}`, name), apiKey, deps)
  return await work.catch((error) => {
    expect(`${error.message}${error.hint}`).not.toContain(key)
    return { code: error.code, said: error.message, hint: error.hint, passes: error.retryable }
  })
}

const page = (response: ServerResponse, status = 200) => {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' })
  response.end('<!doctype html><title>Sign in</title>')
}
const list = { object: 'list', data: [{ id: 'llama3:8b' }, { id: 'org/model' }] }
const only =
  (known: string, answer: (response: ServerResponse) => void) =>
  (response: ServerResponse, { path }: Seen) =>
    path === known ? answer(response) : page(response, 404)

describe('the probe of a provider', () => {
  it.each([
    ['', '/v1/models'],
    ['/v1', '/v1/models'],
    ['/api/v1', '/api/v1/models'],
  ])('asks for the models below the base URL with path "%s"', async (path, asked) => {
    expect(await probe((response) => answerJson(response, 200, list), path)).toEqual([
      'llama3:8b',
      'org/model',
    ])
    expect(server!.seen.map((seen) => seen.path)).toEqual([asked])
    expect(server!.seen[0]!.headers.authorization).toBe(`Bearer ${key}`)
  })

  it('takes a list without a wrapping object, too', async () => {
    expect(await probe((response) => answerJson(response, 200, list.data))).toHaveLength(2)
  })

  it.each(['openai', 'anthropic', 'ollama'])(
    'asks %s with the credential, the version and the root of a job',
    async (name) => {
      const nothing = { error: { message: 'nothing here' } }
      for (const path of ['', '/v1', '/v1/', '/v1?', '/v1#']) {
        const custom = `${name === 'anthropic' ? 'ANTHROPIC' : 'OPENAI'}_CUSTOM_HEADERS`
        process.env[custom] = 'X-Api-Key: of-another-server'
        await probe((response) => answerJson(response, 404, nothing), path, key, name)
        const found = at(`${server!.url}${path}`, name)
        const job = (await found.load()).create({ ...found, apiKey: key, clock: systemClock, log })
        const completion = { model: 'm', prompt: promptOfText('Hi'), maxOutputTokens: 9 }
        await job.complete(completion).catch(() => {})
        delete process.env[custom]
        const [listed, asked] = server!.seen
        const sent = server!.seen.at(-1)!
        expect([path, listed!.path, asked!.path]).toEqual([path, '/v1/models', sent.path])
        expect(sent.path).toMatch(/^\/v1\/(chat\/completions|messages)$/)
        for (const one of [listed, asked]) expect(identity(one!)).toEqual(identity(sent))
        expect(JSON.stringify(listed!.headers)).not.toContain('of-another-server')
        expect(Object.fromEntries(identity(sent)).authorization).toBe(`Bearer ${key}`)
        await server!.close()
      }
    },
  )

  it('is content with a server that lists no models and refuses an empty request', async () => {
    const chat = only('/v1/chat/completions', (r) => answerJson(r, 400, { error: 'no model' }))
    expect(await probe(chat)).toBeUndefined()
    expect(server!.seen.at(-1)).toMatchObject({ method: 'POST', body: '{}' })
  })

  it.each([
    [
      'a login page',
      (r: ServerResponse) => page(r),
      'sends text/html in place of JSON',
      'no proxy or login page',
    ],
    [
      'a login page under 403',
      (r: ServerResponse) => page(r, 403),
      'sends text/html in place of JSON (status 403)',
      'no proxy or login page',
    ],
    [
      'a redirect to one',
      (r: ServerResponse) => r.writeHead(302, { location: '/login' }).end(),
      'redirects elsewhere (status 302)',
      'SVC_OLLAMA_BASE_URL or providers.ollama.base_url',
    ],
    [
      'nothing at the path',
      (r: ServerResponse) => answerJson(r, 404, { detail: 'Not Found' }),
      'has no API at this path',
      'Correct the path of the base URL',
    ],
  ])('finds %s, which only the operator can mend', async (_, answer, said, hint) => {
    expect(await probe(answer)).toEqual({
      code: 'provider-protocol-wrong',
      said: expect.stringContaining(`provider ollama at ${server!.url}/v1 ${said}`),
      hint: expect.stringContaining(hint),
      passes: false,
    })
  })

  it('names the base URL that was meant when /v1 is missing', async () => {
    const answer = only('/api/v1/models', (response) => answerJson(response, 200, list))
    expect(await probe(answer, '/api')).toMatchObject({
      passes: false,
      hint: expect.stringContaining(`Set the base URL to ${server!.url}/api/v1, where the API is`),
    })
  })

  it.each([
    [key, 'refuses the key', 'Check OLLAMA_API_KEY'],
    [undefined, 'wants a key', 'Set OLLAMA_API_KEY, or name'],
  ])('says whose key is to be set (key: %s)', async (apiKey, said, hint) => {
    server = await startServer((response) => answerJson(response, 401, { error: { message: key } }))
    const work = probeProvider(at(server.url), apiKey, deps)
    await expect(work).rejects.toMatchObject({
      code: 'provider-key-refused',
      message: expect.stringContaining(said),
      hint: expect.stringContaining(hint),
      retryable: false,
    })
  })

  it.each([429, 500, 502, 503])('takes status %s for one that passes', async (status) => {
    expect(await probe((response) => answerJson(response, status, {}))).toMatchObject({
      said: expect.stringContaining(`returns status ${status}`),
      passes: true,
    })
  })

  it.each([
    ['http://no-such-host.invalid/v1', 'has an unknown host: no-such-host.invalid'],
    ['http://127.0.0.1:9/v1', 'refuses connections: nothing listens at 127.0.0.1:9'],
  ])('says why %s cannot be reached, which may pass', async (url, said) => {
    await expect(probeProvider(at(url), key, deps)).rejects.toMatchObject({
      code: 'provider-unreachable',
      message: expect.stringContaining(said),
      hint: expect.stringContaining('SVC_OLLAMA_BASE_URL'),
      retryable: true,
    })
  })

  it('does not wait for ever', async () => {
    const clock = createVirtualClock()
    const silent = { fetch: () => new Promise<never>(() => {}), clock }
    const work = probeProvider(at('http://127.0.0.1:9'), key, silent)
    await expect(clock.until(work)).rejects.toMatchObject({
      code: 'provider-silent',
      retryable: true,
    })
  })
})
