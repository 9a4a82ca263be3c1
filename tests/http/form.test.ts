import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { isHeld, listen } from '../../icl/start/listen.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints, maxBlobBytes } from '../../lib/endpoints.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { createTestIcl, origin, type TestIcl, walletOf } from '../icl/test-icl.ts'
import { cutUpload, signedUpload } from './cut-upload.ts'

let icl: TestIcl
let served: Parameters<typeof listen>[0]
let server: ReturnType<typeof listen>
/** The addresses of the requests that have reached the application, as they came. */
const arrived: string[] = []

beforeAll(async () => {
  icl = await createTestIcl()
  const app = createApp(icl.deps)
  const fetch: typeof app.fetch = (request, ...more) => {
    arrived.push(request.url)
    return app.fetch(request, ...more)
  }
  served = { fetch }
  server = listen(served, { hostname: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await server.stop(true)
  await icl.stop()
})

const call = (path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${server.port}${path}`, init)

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  const problem = (await response.json()) as { code: string; status: number; request_id: string }
  expect(problem.status).toBe(response.status)
  expect(problem.request_id).toBe(response.headers.get('x-request-id')!)
  return `${response.status} ${problem.code}`
}

/** Sends bytes as they are, which fetch would put right. */
const sendRaw = (text: string, { port } = server): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port!, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      answer += chunk.toString()
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })

/** The headers of an upload, signed so many seconds ago. */
const signed = (signer?: RequestSigner, age = 0): Promise<Headers> =>
  signedUpload(origin, Math.floor(icl.clock.now() / 1000) - age, signer)

/** Resolves once a request for a path has reached the application. */
const arrival = async (path: string): Promise<void> => {
  while (!arrived.some((url) => url.endsWith(path)))
    await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('methods', () => {
  it('are told where the address takes others', async () => {
    const paths = new Map<string, Set<string>>()
    for (const { method, path } of Object.values(endpoints) as Endpoint[]) {
      const methods = paths.get(path) ?? new Set()
      for (const name of method === 'GET' ? ['GET', 'HEAD'] : [method]) methods.add(name)
      paths.set(path, methods)
    }
    expect(paths.size).toBeGreaterThan(20)
    for (const [path, methods] of paths) {
      const response = await call(path.replace(/\{\w+\}/g, 'x'), { method: 'DELETE' })
      expect([path, response.headers.get('allow')]).toEqual([path, [...methods].join(', ')])
      expect(await problemOf(response)).toBe('405 method-not-allowed')
    }
  })

  it('are told at an address that is written out, where another has a job id', async () => {
    for (const task of ['claim', 'commit', 'result', 'verify', 'abort']) {
      const response = await call(`/internal/task/${task}`)
      expect([task, response.headers.get('allow')]).toEqual([task, 'POST'])
      expect(await problemOf(response)).toBe('405 method-not-allowed')
    }
  })

  it('give HEAD no length, rather than a false one', async () => {
    for (const path of ['/health', '/nothing', '/docs']) {
      const head = `HEAD ${path} HTTP/1.1\r\nhost: icl.test\r\nconnection: close\r\n\r\n`
      const [lines, body] = (await sendRaw(head)).split('\r\n\r\n')
      expect(lines).toMatch(/^HTTP\/1.1 [24]/)
      expect(lines).not.toMatch(/content-length/i)
      expect(body).toBe('')
    }
  })

  it('include HEAD wherever there is GET, with no body', async () => {
    for (const path of ['/health', '/docs', '/openapi.json', '/v1/network', '/metrics']) {
      const response = await call(path, { method: 'HEAD' })
      expect([path, response.status, await response.text()]).toEqual([path, 200, ''])
      expect(response.headers.get('content-type')).toBe(
        (await call(path)).headers.get('content-type'),
      )
    }
  })
})

describe('addresses', () => {
  it('that do not exist are not found, and not repeated', async () => {
    const response = await call('/v2/<script>')
    expect(await response.clone().text()).not.toContain('script')
    expect(await problemOf(response)).toBe('404 not-found')
  })

  it('that are too long are refused', async () => {
    expect(await problemOf(await call(`/health?${'x'.repeat(4_096)}`))).toBe('414 uri-too-long')
    expect((await call(`/health?${'x'.repeat(4_000)}`)).status).toBe(200)
  })

  it('are the same for a caller that names no host, or none that can be one', async () => {
    for (const head of ['HTTP/1.0', 'HTTP/1.1\r\nhost: a@b:99999\r\nconnection: close']) {
      expect(await sendRaw(`GET /livez ${head}\r\n\r\n`)).toContain(' 200 OK')
      expect(await sendRaw(`GET /%6civez?a=1 ${head}\r\n\r\n`)).toContain(' 200 OK')
      // Nothing before the path that a proxy has looked at is left out.
      expect(await sendRaw(`GET /public/metrics ${head}\r\n\r\n`)).toContain(' 404 ')
    }
  })

  it('that may be silent for long are told from others', () => {
    const isSilent = (path: string) => isHeld(new Request(`http://icl.test${path}`))
    for (const path of ['/v1/inference/0x1/events', '/v1/inference/0x1/events?a=1', '/x?wait=30']) {
      expect([path, isSilent(path)]).toEqual([path, true])
    }
    expect(isSilent('/v1/inference/0x1')).toBe(false)
  })

  it('that are badly escaped are refused', async () => {
    for (const [target, status, code] of [
      ['/v1/nodes/%zz', 400, 'invalid-request'],
      ['/health?a=%', 422, 'invalid-query'],
      ['/v1/models?x=%E0%A4%A', 422, 'invalid-query'],
    ]) {
      const answer = await sendRaw(
        `GET ${target} HTTP/1.1\r\nhost: icl.test\r\nconnection: close\r\n\r\n`,
      )
      expect(answer).toContain(`HTTP/1.1 ${status}`)
      expect(answer).toContain(`"code":"${code}"`)
    }
  })

  it('that give a parameter twice are refused, whichever is the good one', async () => {
    for (const query of ['min_tier=0&min_tier=1', 'min%5Ftier=0&min_tier=0']) {
      expect(await problemOf(await call(`/v1/nodes/active?${query}`))).toBe('422 invalid-query')
    }
    expect((await call('/v1/nodes/active?min_tier=0&unknown=1')).status).toBe(200)
  })

  it('with a cursor that no list gave out are refused', async () => {
    const node = `0x${'12'.repeat(20)}`
    for (const cursor of ['AAAA', 'bnVsbA', 'WzEsMl0']) {
      const response = await call(`/v1/nodes/${node}/events?cursor=${cursor}`)
      expect(await problemOf(response)).toBe('422 invalid-query')
    }
  })
})

it('headers that are too large are refused', async () => {
  const headers = { 'x-filler': 'x'.repeat(9_000) }
  expect(await problemOf(await call('/health', { headers }))).toBe('431 headers-too-large')
})

describe('a body that is too large', () => {
  it('is not read any further than its limit, when it does not say its length', async () => {
    let sent = 0
    const chunk = new Uint8Array(64 * 1024)
    const body = new ReadableStream({
      pull: async (controller) => {
        sent += chunk.length
        controller.enqueue(chunk)
        await new Promise((resolve) => setImmediate(resolve))
        if (sent >= 64 * maxBlobBytes) controller.close()
      },
    })
    const headers = await signed()
    headers.set('content-type', 'application/octet-stream')
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    const response = await call('/v1/blobs', init)
    expect(await problemOf(response)).toBe('413 body-too-large')
    expect(sent).toBeLessThan(16 * maxBlobBytes)
  })

  it('has to arrive within half a minute', async () => {
    arrived.length = 0
    const answer = sendRaw(cutUpload(await signed()))
    await arrival('/v1/blobs')
    await icl.clock.advance(30_000)
    expect(await answer).toContain('"code":"request-timeout"')
  })

  it('may take longer than the server leaves a connection without a request', async () => {
    arrived.length = 0
    const impatient = listen(served, { hostname: '127.0.0.1', port: 0 }, 1)
    try {
      const answer = sendRaw(cutUpload(await signed()), impatient)
      await arrival('/v1/blobs')
      // Idle from a later time on, and ended by the server itself.
      await sendRaw('GET /livez HTTP/1.1\r\nhost: icl.test\r\n\r\n', impatient)
      await icl.clock.advance(30_000)
      expect(await answer).toContain('"code":"request-timeout"')
    } finally {
      await impatient.stop(true)
    }
  })

  it('that is broken off is no failure of the ICL', async () => {
    arrived.length = 0
    const upload = cutUpload(await signed())
    const socket = connect(server.port!, '127.0.0.1', () => socket.write(upload))
    await arrival('/v1/blobs')
    const before = icl.logged.length
    socket.destroy()
    const ended = () => icl.logged.slice(before).find((line) => line.includes('"putBlob"'))
    while (!ended()) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(ended()).toMatch(/^request .*"status":400/)
  })

  it('is not waited for when the headers do not say who signed it', async () => {
    const malformed = await signed()
    malformed.set('signature', 'eth=:AAAA')
    const forged = await signed()
    forged.set('signature', `eth=:${'A'.repeat(86)}==:`)
    const partly = await signed()
    partly.set('signature-input', partly.get('signature-input')!.replace('"@method" ', ''))
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(7))
    const unknown = { kind: 'node', address: walletOf('nobody').address, key } as const
    const uploads: Record<string, Headers> = {
      'signature-missing': new Headers(),
      'signature-invalid malformed': malformed,
      'signature-invalid forged': forged,
      'signature-invalid partly': partly,
      'signature-stale': await signed(undefined, 400),
      'not-attested': await signed(unknown),
    }
    for (const [name, headers] of Object.entries(uploads)) {
      const answer = await sendRaw(cutUpload(headers))
      expect(answer).toContain('HTTP/1.1 401')
      expect(answer).toContain(`"code":"${name.split(' ')[0]}"`)
    }
  })

  it('is not read at all, when its length is told', async () => {
    const length = 10 * maxBlobBytes
    const answer = await sendRaw(
      `POST /v1/blobs HTTP/1.1\r\nhost: icl.test\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\nabc`,
    )
    expect(answer).toContain('HTTP/1.1 401')
  })
})
