import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { browserNote, itInBrowser, startChromium } from './chromium.ts'
import { startConsoleWorld } from './console-world.ts'
import { violationsOf, watchPage } from './watch-page.ts'

let world: Awaited<ReturnType<typeof startConsoleWorld>>
let browser: Browser | undefined
beforeAll(async () => {
  browser = await startChromium()
  if (browser) world = await startConsoleWorld({ jobs: 0 })
})
afterAll(async () => {
  await browser?.close()
  await world?.stop()
})

itInBrowser(
  `the front page${browserNote} names each model with its nodes, runs no script, fits a phone, and leads to the console and back`,
  async () => {
    if (!browser) throw new TypeError('There is no browser')
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [390, 'dark'],
    ] as const) {
      const viewport = { width, height: 844 }
      const context = await browser.newContext({ viewport, colorScheme })
      const page = await context.newPage()
      const problems = watchPage(page, [world.origin])
      await page.goto(world.origin)
      await page.getByText('41 active of 50').waitFor()
      expect(await page.getByRole('row', { name: 'openai:gpt-5-mini 41' }).count()).toBe(1)
      expect(await violationsOf(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await page.getByRole('link', { name: 'Console', exact: true }).click()
      await page.getByRole('heading', { name: 'Console' }).waitFor()
      await page.getByRole('link', { name: 'Inference service' }).click()
      await page.getByRole('heading', { name: 'How to ask' }).waitFor()
      expect(problems).toEqual([])
      await context.close()
    }
  },
)
