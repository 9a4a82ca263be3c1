import { afterAll, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { createTestIcl } from './test-icl.ts'

const icl = await createTestIcl()
afterAll(() => icl.stop())

const ask = (app: ReturnType<typeof createApp>, accept: string, method = 'GET') =>
  app.fetch(new Request('https://icl.test/', { method, headers: { accept } }), {
    peerAddress: '192.0.2.1',
  })

it('names the pages of the ICL to browsers, and those only that there are', async () => {
  const app = createApp(icl.deps)
  const answer = await ask(app, 'text/html,application/xhtml+xml')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/html; charset=UTF-8',
  ])
  expect(answer.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-/,
  )
  const page = await answer.text()
  expect([...page.matchAll(/href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
    '/console',
    '/docs',
  ])
  const without = createApp({ ...icl.deps, access: { ...icl.deps.access, console: 'off' } })
  without.get('/playground', (c) => c.text('played'))
  const other = await (await ask(without, 'text/html')).text()
  expect([...other.matchAll(/href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
    '/playground',
    '/docs',
  ])
})

it('asks search engines to read no page', async () => {
  const answer = await icl.fetch(new Request('https://icl.test/robots.txt'))
  expect([answer.status, await answer.text()]).toEqual([200, 'User-agent: *\nDisallow: /\n'])
})

it('says to all others that there is nothing', async () => {
  const app = createApp(icl.deps)
  for (const accept of ['application/json', '*/*']) {
    const answer = await ask(app, accept)
    expect([answer.status, (await answer.json()).code]).toEqual([404, 'not-found'])
  }
})
