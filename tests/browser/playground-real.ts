// npm run test:browser -- --fhe real: one prompt through the playground with a real proof, watching the page's own thread.
import type { Browser, Locator, Page } from 'playwright-core'
import { startChromium } from './chromium.ts'
import { longestTaskDuring } from './main-thread.ts'
import { playgroundAnswer, startPlaygroundWorld } from './playground-world.ts'
import { violationsOf, watchPage } from './watch-page.ts'

const mostMs = 100
const patienceMs = 15 * 60_000
const failures: string[] = []

const check = (holds: boolean, what: string): void => {
  process.stdout.write(`${holds ? 'pass' : 'FAIL'}  ${what}\n`)
  if (!holds) failures.push(what)
}

const ms = (time: number): string => `${Math.round(time)} ms`

/** A page whose own thread computes for long: that the measure sees it shows that it would see a proof. */
async function checkMeasure(browser: Browser, page: Page): Promise<void> {
  const { processorMs } = await longestTaskDuring(browser, page, () =>
    page.evaluate(() => {
      let sum = 0
      for (let index = 0; index < 1e9; index++) sum += Math.sqrt(index)
      return sum
    }),
  )
  check(processorMs > mostMs, `the measure sees a page that computes: ${ms(processorMs)}`)
}

/** Waits for something to appear; throws what the page says went wrong. */
async function endOf(page: Page, wanted: Locator): Promise<void> {
  const alert = page.getByRole('alert')
  await wanted.or(alert).first().waitFor()
  if (await alert.isVisible()) throw new Error(await alert.innerText())
}

async function checkRun(browser: Browser, url: string, origins: readonly string[]): Promise<void> {
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(patienceMs)
  const problems = watchPage(page, origins)
  await page.goto(url)
  await page.getByLabel('Prompt').fill('Why do lighthouses rotate their light?')
  const encrypted = page.locator('[data-step=encrypt-key][data-status=done]')
  const { processorMs, clockMs } = await longestTaskDuring(browser, page, async () => {
    await page.getByRole('button', { name: 'Encrypt and run' }).click()
    await endOf(page, encrypted)
  })
  process.stdout.write(`      ${(await encrypted.innerText()).replaceAll('\n', '; ')}\n`)
  check(
    processorMs < mostMs,
    `no task of the page took ${mostMs} ms of processor time during the proof: at most ${ms(processorMs)} (by the clock ${ms(clockMs)})`,
  )
  await endOf(page, page.getByRole('heading', { name: 'Receipt' }))
  check((await page.locator('.answer').innerText()) === playgroundAnswer, 'the answer is shown')
  const [passed, all] = [
    await page.locator('[data-passed=true]').count(),
    await page.locator('[data-passed]').count(),
  ]
  check(passed === all && all > 0, `${passed} of ${all} checks of the receipt passed`)
  const serious = await violationsOf(page)
  check(serious.length === 0, `axe finds nothing serious ${serious.join('; ')}`)
  check(
    problems.length === 0,
    `nothing on the console, no request elsewhere ${problems.join('; ')}`,
  )
  await checkMeasure(browser, page)
}

const browser = await startChromium()
if (browser === undefined) throw new Error('Chromium is not installed')
const place = await startPlaygroundWorld('real')
try {
  await checkRun(browser, place.url, place.origins)
} catch (error) {
  check(false, error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error))
} finally {
  await browser.close()
  await place.stop()
}
process.exit(failures.length === 0 ? 0 : 1)
