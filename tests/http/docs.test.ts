import { afterAll, describe, expect, it, vi } from 'vitest'
import { openApiDocument } from '../../icl/docs/openapi.ts'
import { renderPage } from '../../icl/docs/page.ts'
import { sha256, utf8 } from '../../lib/digest.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { createTestIcl, origin } from '../icl/test-icl.ts'

const icl = await createTestIcl()
const response = await icl.fetch(new Request(`${origin}/docs`))
const page = await response.text()
afterAll(() => icl.stop())

/** The part of the page that is about one operation. */
const sectionOf = (id: string): string =>
  new RegExp(`<section class="op" id="${id}"[\\s\\S]*?</section>`).exec(page)?.[0] ?? ''

describe('the reference page', () => {
  it('shows every endpoint with who may call it, its parameters and its problems', () => {
    for (const [id, endpoint] of Object.entries(endpoints) as [string, Endpoint][]) {
      const section = sectionOf(id)
      expect(section).toContain(endpoint.path)
      expect(section).toContain(endpoint.method)
      const names = [endpoint.params, endpoint.query].flatMap((part) =>
        Object.keys(part?.shape ?? {}),
      )
      for (const name of names) expect(section).toContain(`<code>${name}</code>`)
      if (endpoint.body) expect(section).toContain('<h4>Body</h4>')
      if (endpoint.auth === 'none') expect(section).toContain('Authentication: none')
      else expect(section).toMatch(/Authentication: <a href="#auth-/)
    }
  })

  it('links only to places that it has', () => {
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
    expect(links.length).toBeGreaterThan(100)
    for (const link of links) expect(ids).toContain(link)
    expect(ids.size).toBe([...page.matchAll(/ id="/g)].length)
  })

  it('needs no script and nothing from elsewhere, and lets the browser run and load nothing', async () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|src=|@import|url\(| on\w+=/i)
    const policy = response.headers.get('content-security-policy')!
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!
    const hash = btoa(String.fromCharCode(...(await sha256(utf8(style)))))
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ])
    expect(page).not.toMatch(/ style="/)
  })

  it('can be read on a phone, in the dark, and with a keyboard', () => {
    expect(page).toContain('<html lang="en">')
    expect(page).toContain('name="viewport"')
    expect(page).toContain('prefers-color-scheme:dark')
    expect(page).toContain(':focus-visible')
    expect(page).toMatch(/<a class="skip" href="#content">/)
  })

  it('shows texts as texts', () => {
    const hostile = openApiDocument('<b>1</b>', 'https://"><script>alert(1)</script>')
    const rendered = renderPage(hostile)
    expect(rendered).not.toContain('<script>')
    expect(rendered).not.toContain('<b>1</b>')
    expect(rendered).toContain('&lt;b&gt;1&lt;/b&gt;')
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
