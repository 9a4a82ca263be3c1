import { afterAll, describe, expect, it, vi } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { openApiDocument } from '../../icl/docs/openapi.ts'
import { renderPage } from '../../icl/docs/page.ts'
import { sha256, utf8 } from '../../lib/digest.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { createTestIcl, origin } from '../icl/test-icl.ts'

const icl = await createTestIcl()
afterAll(() => icl.stop())
const without = createApp({ ...icl.deps, readDocsScript: undefined })
const ask = async (app: { fetch: typeof without.fetch }, path: string) => {
  const response = await app.fetch(new Request(`${origin}${path}`), { peerAddress: '192.0.2.1' })
  return { response, text: await response.text() }
}
const { response, text: page } = await ask(createApp(icl.deps), '/docs')
const plain = await ask(without, '/docs')

describe('the reference page', () => {
  it('lists every endpoint, also where the script is not built, and then says how to build it', () => {
    for (const { method, path, summary } of Object.values(endpoints) as Endpoint[]) {
      for (const text of [page, plain.text]) {
        expect(text).toContain(`<code>${method} ${path}</code>`)
        expect(text).toContain(summary.replaceAll("'", '&#39;'))
      }
    }
    expect(page).not.toContain('npm run build:pages')
    expect(plain.text).toContain('npm run build:pages')
    expect(plain.text).not.toContain('<script')
  })

  it('lets the browser load from this ICL only, and without the script load nothing', async () => {
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!
    const hash = btoa(String.fromCharCode(...(await sha256(utf8(style)))))
    const empty = btoa(String.fromCharCode(...(await sha256(utf8('')))))
    const closed = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    expect(response.headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash}' 'sha256-${empty}'`,
      "script-src 'self'",
      "connect-src 'self'",
      'img-src data:',
      ...closed,
    ])
    expect(plain.response.headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      ...closed,
    ])
    expect(page).not.toMatch(/https?:\/\/|@import|url\(| style="| on\w+=/i)
  })

  it('shows texts as texts', () => {
    const rendered = renderPage(openApiDocument('<b>1</b>', 'https://icl.example'), false)
    expect(rendered).not.toContain('<b>1</b>')
    expect(rendered).toContain('&lt;b&gt;1&lt;/b&gt;')
  })
})

it('the script of the reference is read once, and a problem where it is not built', async () => {
  const readDocsScript = vi.fn(() => 'started()')
  const app = createApp({ ...icl.deps, readDocsScript })
  await ask(app, '/docs')
  await ask(app, '/docs/redoc.js')
  const { response, text } = await ask(app, '/docs/redoc.js')
  expect([text, readDocsScript.mock.calls.length]).toEqual(['started()', 1])
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(response.headers.get('etag')).toMatch(/^"0x[0-9a-f]{64}"$/)
  const missing = await ask(without, '/docs/redoc.js')
  expect(missing.response.status).toBe(404)
  expect(JSON.parse(missing.text)).toMatchObject({
    code: 'not-found',
    detail: expect.stringContaining('npm run build:pages'),
  })
})
it('the answer of an ICL that is unavailable is documented with status 503', () => {
  const { responses } = openApiDocument('1', origin).paths['/health']!.get as {
    responses: Record<number, { content: object }>
  }
  expect(responses[503]?.content).toMatchObject({
    'application/json': { schema: { $ref: '#/components/schemas/Health' } },
    'application/problem+json': {},
  })
})

it('the document is written and hashed once: an answer that nobody reads would keep its own copy', async () => {
  const ask = () => icl.fetch(new Request(`${origin}/openapi.json`))
  const first = await ask()
  const hashed = vi.spyOn(crypto.subtle, 'digest')
  const written = vi.spyOn(JSON, 'stringify')
  const second = await ask()
  const longest = Math.max(0, ...written.mock.results.map(({ value }) => String(value).length))
  const counts = [hashed.mock.calls.length, longest > 10_000]
  vi.restoreAllMocks()
  expect(counts).toEqual([0, false])
  expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
  expect(await second.json()).toEqual(await first.json())
})
