import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { pageNames, withHeader } from '../../lib/page-header.ts'
import { createTestIcl, type TestIcl } from './test-icl.ts'

let icl: TestIcl
beforeAll(async () => {
  icl = await createTestIcl()
})
afterAll(() => icl.stop())

const linksOf = (page: string) => {
  const [header = ''] = /<header.*?<\/header>/.exec(page) ?? []
  return {
    links: [...header.matchAll(/href="([^"]+)"/g)].map(([, path]) => path),
    current: /href="([^"]+)" aria-current="page"/.exec(header)?.[1],
  }
}
const linksAt = async (app: ReturnType<typeof createApp>, path: string) => {
  const request = new Request(`https://icl.test${path}`, { headers: { accept: 'text/html' } })
  const answer = await app.fetch(request, { peerAddress: '192.0.2.1' })
  return linksOf(await answer.text())
}

it('each page has the same header, with a link to each page that there is', async () => {
  const app = createApp(icl.deps)
  for (const path of ['/', '/console', '/docs']) {
    const { links, current } = await linksAt(app, path)
    expect([links, current]).toEqual([['/', '/console', '/docs'], path])
  }
  const other = createApp({ ...icl.deps, access: { ...icl.deps.access, console: 'off' } })
  other.get('/playground', (c) => c.text('played'))
  expect((await linksAt(other, '/docs')).links).toEqual(['/', '/playground', '/docs'])
})

it('a page that was built with the header gets the one of its ICL in place of it', () => {
  const built = withHeader('<body><p>$&</p>', pageNames, 'playground')
  expect(linksOf(built).links).toEqual(['/', '/playground', '/console', '/docs'])
  const served = withHeader(built, ['front', 'playground'], 'playground')
  expect(linksOf(served).links).toEqual(['/', '/playground'])
  expect(served.match(/<header/g)).toHaveLength(1)
  expect(served).toMatch(/<p>\$&<\/p>$/)
})
