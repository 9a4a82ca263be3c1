import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { unavailable } from '../../icl/records/unavailable.ts'
import {
  type BuiltPlayground,
  playgroundPolicy,
  type ReadFolder,
  readPlayground,
  servePlayground,
} from '../../icl/start/playground.ts'
import { parseSettings } from '../../icl/start/settings.ts'
import { lastingAtOnce } from '../../icl/store/store.ts'
import { maxUrlBytes } from '../../lib/endpoints.ts'
import { createTestIcl, type TestIcl } from './test-icl.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const readFolder: ReadFolder = () =>
  new Map([
    ['index.html', bytes('<!doctype html>')],
    ['main-0123456789abcdef.js', bytes('let x')],
    ['tfhe-0123456789abcdef.wasm', bytes('wasm')],
    ['notes.txt', bytes('not a part of the page')],
  ])
const urls = {
  cofhe_url: 'https://cofhe.example',
  verifier_url: 'https://verifier.example/v1',
  threshold_network_url: 'https://cofhe.example',
}

const settingsWith = (more: Readonly<Record<string, string>>) =>
  parseSettings({
    SVC_ICL_PUBLIC_URL: 'https://icl.test',
    SVC_ICL_SECRET: 'ab'.repeat(32),
    SVC_ICL_RPC_URL: 'https://rpc.example/secret-of-the-operator',
    SVC_ICL_CHAIN_ID: '31337',
    SVC_ICL_COORDINATOR_KEY: `0x${'1'.repeat(64)}`,
    SVC_ICL_NODE_REGISTRY: `0x${'1'.repeat(40)}`,
    SVC_ICL_PROMPT_KEY_STORE: `0x${'2'.repeat(40)}`,
    SVC_ICL_RESULT_REGISTRY: `0x${'3'.repeat(40)}`,
    ...more,
  })

let icl: TestIcl
let playground: BuiltPlayground
let get: (path: string, method?: string) => Promise<Response>

beforeAll(async () => {
  icl = await createTestIcl()
  const settings = settingsWith({
    SVC_ICL_PLAYGROUND: 'anywhere',
    SVC_ICL_PLAYGROUND_RPC_URL: 'https://rpc.example/for-everybody',
  })
  const built = readPlayground(settings, urls, readFolder)
  if (built === undefined) throw new TypeError('It is not served')
  playground = built
  const app = createApp(icl.deps)
  app.route('/playground', servePlayground(icl.deps, playground))
  get = async (path, method = 'GET') =>
    app.fetch(new Request(`https://icl.test${path}`, { method }), { peerAddress: '192.0.2.1' })
})
afterAll(() => icl.stop())

describe('the playground as the ICL serves it', () => {
  it('is a whole problem, too, when saves were lost or the address is too long', async () => {
    const lost = { ...lastingAtOnce, barrier: () => () => Promise.reject(unavailable('lost', 1)) }
    const app = createApp({ ...icl.deps, store: { ...icl.deps.store, commits: lost } })
    app.route('/playground', servePlayground(icl.deps, playground))
    const refused = await app.fetch(new Request('https://icl.test/playground'))
    expect([refused.status, (await refused.json()) as object]).toMatchObject([
      503,
      { code: 'unavailable' },
    ])
    expect(refused.headers.get('content-security-policy')).toBeNull()
    const long = await get(`/playground/${'a'.repeat(maxUrlBytes)}`)
    expect([long.status, long.headers.get('x-request-id')]).toEqual([414, expect.any(String)])
  })

  it('is a page with a policy of its own, and parts that browsers keep for good', async () => {
    const page = await get('/playground')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=UTF-8')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    expect(page.headers.get('content-security-policy')).toBe(playgroundPolicy(playground.settings))
    const part = await get('/playground/tfhe-0123456789abcdef.wasm')
    expect(part.headers.get('content-type')).toBe('application/wasm')
    expect(part.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    // A worker goes by the policy of its own answer.
    for (const name of ['content-security-policy', 'cross-origin-embedder-policy']) {
      expect(part.headers.get(name)).toBe(page.headers.get(name))
    }
    expect(part.headers.get('x-content-type-options')).toBe('nosniff')
    expect((await get('/playground', 'HEAD')).status).toBe(200)
  })

  it('may call the ICL, the chain and the coprocessor, and nothing else', () => {
    const directives = playgroundPolicy(playground.settings).split('; ')
    expect(directives).toContain("default-src 'none'")
    expect(directives).toContain("script-src 'self' 'wasm-unsafe-eval'")
    expect(directives).toContain(
      "connect-src 'self' https://rpc.example/for-everybody https://cofhe.example https://verifier.example/v1/",
    )
  })

  it.each([
    ['https://rpc.example', 'https://rpc.example'],
    ['https://rpc.example/key', 'https://rpc.example/key'],
    ['https://rpc.example/key/', 'https://rpc.example/key/'],
    ['https://user:secret@rpc.example/key?token=secret', 'https://rpc.example/key'],
    ['https://rpc.example/a;script-src *,b', 'https://rpc.example/a%3Bscript-src%20*%2Cb'],
  ])('may call exactly what is given: %s', (rpc_url, source) => {
    expect(playgroundPolicy({ rpc_url }).split('; ')).toContain(`connect-src 'self' ${source}`)
  })

  it('is told the addresses for everybody, and never the RPC of the ICL', async () => {
    const answer = await get('/playground/settings.json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toEqual({
      rpc_url: 'https://rpc.example/for-everybody',
      coprocessor: urls,
    })
  })

  it.each([
    '/playground/',
    '/playground/index.html',
    '/playground/notes.txt',
    '/playground/other.js',
    '/playground/..%2fsettings.ts',
    '/playground/%2e%2e/%2e%2e/package.json',
    '/playground/main-0123456789abcdef.js/more',
  ])('has nothing at %s', async (path) => {
    const answer = await get(path)
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
  })

  it('limits its callers as the endpoints do', async () => {
    const one = {
      ...icl.deps,
      access: { ...icl.deps.access, rates: { address: { requests: 1, seconds: 60 } } },
    }
    const app = createApp(one)
    app.route('/playground', servePlayground(one, playground))
    const ask = async () =>
      (await app.fetch(new Request('https://icl.test/playground'), { peerAddress: '192.0.2.2' }))
        .status
    expect(await ask()).toBe(200)
    expect(await ask()).toBe(429)
  })
})

describe('the settings of the playground', () => {
  it('leave it out unless they name it', () => {
    expect(readPlayground(settingsWith({}), undefined, readFolder)).toBeUndefined()
  })

  it('need an RPC for everybody: that of the ICL may hold a secret', () => {
    const settings = settingsWith({ SVC_ICL_PLAYGROUND: 'anywhere' })
    expect(() => readPlayground(settings, undefined, readFolder)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('SVC_ICL_PLAYGROUND_RPC_URL is missing'),
        hint: 'Set it to a chain RPC for browsers.',
      }),
    )
  })

  it('need a folder with a page in it', () => {
    const settings = settingsWith({
      SVC_ICL_PLAYGROUND: '/nowhere',
      SVC_ICL_PLAYGROUND_RPC_URL: 'https://rpc.example',
    })
    const missing: ReadFolder = () => {
      throw new Error('no such folder')
    }
    for (const [read, why] of [
      [missing, /cannot be read.*no such folder/],
      [() => new Map(), /has no index\.html/],
    ] as const) {
      expect(() => readPlayground(settings, undefined, read)).toThrow(why)
    }
  })
})
