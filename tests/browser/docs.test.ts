import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { listen } from '../../icl/start/listen-node.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { buildDocs } from '../../web/build-docs.ts'
import { createTestIcl } from '../icl/test-icl.ts'
import { browserNote, itInBrowser, startChromium } from './chromium.ts'
import { watchPage } from './watch-page.ts'

let browser: Browser | undefined
let origin: string
const stops: (() => unknown)[] = []
beforeAll(async () => {
  browser = await startChromium()
  if (!browser) return
  const folder = await mkdtemp(join(tmpdir(), 'svc-docs-'))
  const script = await readFile(await buildDocs(folder), 'utf8')
  const icl = await createTestIcl()
  const app = createApp({ ...icl.deps, readDocsScript: () => script })
  const server = await listen(app, { hostname: '127.0.0.1', port: 0 })
  origin = server.url.origin
  stops.push(
    () => browser?.close(),
    () => server.stop(true),
    () => icl.stop(),
    () => rm(folder, { recursive: true }),
  )
})
afterAll(async () => {
  for (const stop of stops) await stop()
})

describe(`the API reference in a browser${browserNote}`, () => {
  itInBrowser.each([1280, 390])(
    'shows every operation %i pixels wide, and sends no request elsewhere',
    async (width) => {
      const page = await browser!.newPage({ viewport: { width, height: 844 } })
      page.setDefaultTimeout(60_000)
      const problems = watchPage(page, [origin])
      await page.goto(`${origin}/docs`)
      await page.locator('[data-section-id$="openNumbers"]').first().waitFor({ state: 'attached' })
      const operations = await page.locator('[data-section-id*="/operation/"]').count()
      expect(operations).toBe(Object.keys(endpoints).length)
      expect(await page.getByText('curl').count()).toBeGreaterThan(0)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(problems).toEqual([])
      await page.close()
    },
    120_000,
  )
})
