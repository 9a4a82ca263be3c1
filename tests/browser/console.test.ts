import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { openAccess } from '../../icl/rules/access.ts'
import { sampleJob } from '../icl/rules/sample-job.ts'
import { browserNote, itInBrowser, startChromium } from './chromium.ts'
import { idAt, nodeAt, seededJob, startConsoleWorld } from './console-world.ts'
import { violationsOf, watchPage } from './watch-page.ts'

const pictures = join(import.meta.dirname, '..', '..', 'docs', 'img')

let world: Awaited<ReturnType<typeof startConsoleWorld>>
let browser: Browser | undefined
beforeAll(async () => {
  browser = await startChromium()
  if (browser) world = await startConsoleWorld()
})
afterAll(async () => {
  await browser?.close()
  await world?.stop()
})

/** Opens a place of the console as a visitor would for whom nothing is in any cache. */
async function open(place: string, { width = 1360, height = 900 } = {}) {
  const context = await browser!.newContext({ colorScheme: 'light', viewport: { width, height } })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const problems = watchPage(page, [world.origin])
  await page.goto(`${world.origin}/console${place}`)
  // The stream's first events come a moment after its beginning.
  await timeBrings(page.getByText('live', { exact: true }), 50)
  return { page, problems, close: () => context.close() }
}

const rows = (page: Page) => page.locator('main section:first-child table.list tbody tr')

/** Waits until a list has so many rows. */
const rowsOf = (page: Page, count: number) =>
  page.waitForFunction(
    (wanted) => document.querySelectorAll('main table.list tbody tr').length === wanted,
    count,
  )

/** In light and, since only its colours differ, those in dark. */
async function violations(page: Page): Promise<readonly string[]> {
  const light = await violationsOf(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await violationsOf(page, ['color-contrast'])
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}

/** Moves the ICL's time on until something shows: how far the answers on their way are then is not known. */
async function timeBrings(awaited: Locator, stepMs = 1_000, { clock } = world.icl): Promise<void> {
  const shows = () =>
    awaited.waitFor({ timeout: 1_000 }).then(
      () => true,
      () => false,
    )
  do await clock.advance(stepMs)
  while (!(await shows()))
}

/** Keeps a picture for the docs when asked to. */
async function keepPicture(of: Page | Locator, name: string): Promise<void> {
  if (process.env.UPDATE_SCREENSHOTS !== '1') return
  await of.screenshot({ path: join(pictures, `console-${name}.png`) })
}

describe(`the console in a browser${browserNote}`, () => {
  itInBrowser(
    'shows how the service is, in light and dark, and nothing of any client',
    async () => {
      const { page, problems, close } = await open('')
      await page.getByText('41 active').waitFor()
      await rowsOf(page, 8)
      expect(await page.getByRole('row', { name: /^accepted 386/ }).count()).toBe(1)
      const plot = page.getByRole('img', { name: /^Settled per minute\. In the last hour \d+/ })
      expect(await plot.count()).toBe(1)
      const lines = page.getByRole('img', { name: /^Time to an accepted answer/ }).locator('.line')
      const fills = await lines.evaluateAll((all) => all.map((line) => getComputedStyle(line).fill))
      expect(fills).toEqual(['none', 'none'])
      await keepPicture(page, 'light')
      await page.emulateMedia({ colorScheme: 'dark' })
      await keepPicture(page, 'dark')
      expect(await violations(page)).toEqual([])
      await page.getByText('As a table').first().click()
      expect(await page.getByRole('columnheader', { name: 'Minute (UTC)' }).count()).toBe(1)
      expect(await page.content()).not.toMatch(/bafkreiaplanted|c10007c1|987654321/)
      expect(problems).toEqual([])
      await close()
    },
  )

  itInBrowser('says when it lists only the first of very many nodes', async () => {
    const { page, close } = await open('')
    // Each page is the first, and says that there is another one.
    await page.route('**/v1/console/nodes*', async (route) => {
      const response = await route.fetch({ url: `${world.origin}/v1/console/nodes` })
      await route.fulfill({ response, json: { ...(await response.json()), next_cursor: 'more' } })
    })
    await page.goto(`${world.origin}/console#/nodes/0x${'9'.repeat(40)}`)
    await page.getByText('500 of 500, and more that are not listed').waitFor()
    expect(await page.getByText('It has no certificate now').count()).toBe(0)
    await close()
  })

  itInBrowser('sorts and finds nodes, and opens one, with the keyboard alone', async () => {
    const { page, problems, close } = await open('#/nodes')
    await rowsOf(page, 50)
    await page.getByRole('button', { name: 'Score' }).focus()
    await page.keyboard.press('Enter')
    const header = page.getByRole('columnheader', { name: 'Score' })
    expect(await header.getAttribute('aria-sort')).toBe('descending')
    const scores = await rows(page).locator('td:nth-child(5)').allInnerTexts()
    const numbers = scores.map(Number)
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a))
    await page.getByLabel('Find').fill('chain inactive')
    await rowsOf(page, 4)
    await page.getByText('4 of 50').waitFor()
    await rows(page).first().getByRole('link').focus()
    await page.keyboard.press('Enter')
    const title = page.getByRole('heading', { name: /^Node 0xa7/ })
    await title.waitFor()
    await page.waitForFunction(() => document.activeElement?.id === 'node-title')
    await page.getByRole('table').nth(1).waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await title.waitFor({ state: 'detached' })
    expect(problems).toEqual([])
    await close()
  })

  itInBrowser('tells a node’s share of the draws, and what moved its weight', async () => {
    const { page, problems, close } = await open(`#/nodes/${nodeAt(1)}`)
    await page.getByText(/^\d+\.\d\d % \(weight \d+ of \d+\)$/).waitFor()
    await page.getByText(/^Weight \d+ to \d+ in 7 days: [+-]\d+ by /).waitFor()
    expect(await violations(page)).toEqual([])
    expect(problems).toEqual([])
    await close()
  })

  itInBrowser(
    'pages through 500 jobs, filters them by phase, and tells what happened to one',
    async () => {
      const { page, problems, close } = await open('#/jobs')
      const more = page.getByRole('button', { name: 'Show older jobs' })
      for (const shown of [100, 200, 300, 400]) {
        await rowsOf(page, shown)
        await more.click()
      }
      await rowsOf(page, 500)
      expect(await more.count()).toBe(0)
      await page.getByRole('link', { name: 'disputed 54' }).click()
      await rowsOf(page, 54)
      await rows(page).filter({ hasText: 'undelivered' }).first().getByRole('link').click()
      const timeline = page.getByRole('list').filter({ hasText: 'submitted' })
      await timeline.getByText('undelivered').waitFor()
      const told = await timeline.textContent()
      const steps = ['seat 1 claimed', 'seat 2 committed', 'revealed', 'delivery failed']
      for (const step of [...steps, 'agreed 3 of 3 answers match']) expect(told).toContain(step)
      const answers = page.getByRole('table').filter({ hasText: 'Agrees' })
      expect(await answers.getByText('agrees', { exact: true }).count()).toBe(3)
      expect(await answers.getByText('match', { exact: true }).count()).toBe(6)
      const deliveries = page.getByRole('table').filter({ hasText: 'Outcome' })
      expect(await deliveries.getByText('failed', { exact: true }).count()).toBe(3)
      await keepPicture(page, 'jobs')
      expect(await violations(page)).toEqual([])
      // The address leads there again, and back leads to the list.
      await page.reload()
      await timeline.getByText('undelivered').waitFor()
      await page.getByRole('link', { name: 'Close' }).click()
      await timeline.waitFor({ state: 'detached' })
      expect(problems).toEqual([])
      await close()
    },
  )

  itInBrowser('finds jobs by model and reason, and opens one by its id', async () => {
    const { page, problems, close } = await open('#/jobs')
    await rowsOf(page, 100)
    const find = page.getByLabel('Find')
    await find.fill('undelivered')
    await page.waitForFunction(
      () => document.querySelectorAll('main table.list tbody tr').length < 20,
    )
    for (const row of await rows(page).allInnerTexts()) expect(row).toContain('undelivered')
    await find.fill(idAt(22).toUpperCase().replace('0X', '0x'))
    await page.getByRole('link', { name: /^Open 0x/ }).click()
    await page.getByText('3 of 4 answers match. The rule (three) takes 3.').waitFor()
    expect(await violations(page)).toEqual([])
    expect(problems).toEqual([])
    await close()
  })

  itInBrowser('tells who joined, whose answer differs, and who delivered', async () => {
    const { page, problems, close } = await open(`#/jobs/${idAt(22)}`)
    const tables = page.locator('.detail').getByRole('table')
    await page.getByText('3 of 4 answers match. The rule (three) takes 3.').waitFor()
    const rowsWith = (text: string) => tables.first().getByText(text, { exact: true }).count()
    expect([await rowsWith('delivered'), await rowsWith('agrees')]).toEqual([1, 2])
    expect([await rowsWith('differs'), await rowsWith('no match')]).toEqual([1, 6])
    expect(await tables.nth(1).getByText('settled', { exact: true }).count()).toBe(1)
    const joined = tables.nth(2).getByRole('row').filter({ hasText: 'joined, batch 2' })
    expect(await joined.count()).toBe(1)
    await keepPicture(page.locator('.detail'), 'dissent')
    expect(problems).toEqual([])
    await close()
  })

  itInBrowser('shows a job as it is now, however many others changed since', async () => {
    const { page, problems, close } = await open('#/jobs')
    await rowsOf(page, 100)
    const { clock, deps } = world.icl
    const count = new Intl.NumberFormat('en')
    const { document: running, version } = (await deps.store.findJob(idAt(5)))!
    const settled = seededJob(5, running.createdAt)
    await deps.store.save({ kind: 'job', job: settled, base: version })
    const row = rows(page).filter({ hasText: `${idAt(5).slice(0, 8)}…${idAt(5).slice(-6)}` })
    await timeBrings(row.getByText(settled.phase))
    for (let batch = 0; batch < 7; batch++) {
      const jobs = Array.from({ length: 80 }, (_, index) => 10_000 + batch * 80 + index)
      const ago = running.createdAt - 86_400_000
      for (const index of jobs)
        await deps.store.save({ kind: 'job', job: seededJob(index, ago), base: 0 })
      const counted = page.getByRole('link', {
        name: `all ${count.format(500 + (batch + 1) * 80)}`,
      })
      await timeBrings(counted)
      await clock.advance(1_000)
    }
    await page.waitForTimeout(1_000)
    expect(await row.getByText(settled.phase).count()).toBe(1)
    expect(problems).toEqual([])
    await close()
  })

  itInBrowser('brings news without being asked, and says when it cannot', async () => {
    const { page, problems, close } = await open('')
    await rowsOf(page, 8)
    const { icl } = world
    const job = seededJob(9_001, icl.clock.now(), true)
    await icl.deps.store.save({ kind: 'job', job, base: 0 })
    await timeBrings(page.getByRole('row', { name: /^running 6/ }))
    const row = page.locator('table.list tbody tr').first()
    await row.getByText('running').waitFor()
    const { version } = (await icl.deps.store.findJob(job.id))!
    const settled = seededJob(9_001, icl.clock.now() - 1)
    await icl.deps.store.save({ kind: 'job', job: settled, base: version })
    await timeBrings(row.getByText(settled.phase))
    expect(problems).toEqual([])
    await world.stop()
    await page.getByText('reconnecting').waitFor()
    await close()
  })
})

itInBrowser(
  `the console on a phone${browserNote} needs no more than 320 px, and opens nodes and jobs in place of their lists`,
  async () => {
    world = await startConsoleWorld({ nodes: 8, jobs: 30 })
    const { icl } = world
    const createdAt = icl.clock.now() - 200_000
    const waiting = sampleJob({ id: idAt(9_002), createdAt, deadline: createdAt + 600_000 })
    const job = { ...waiting, tickAt: createdAt + 900_000, outbox: [] }
    await icl.deps.store.save({ kind: 'job', job, base: 0 })
    const unserved = 'model_id=openai:nobody-serves-it'
    await fetch(`${world.origin}/v1/inference/quorum-preview?${unserved}`)
    const { page, problems, close } = await open('', { width: 320, height: 640 })
    await page.getByText('for 3 min').waitFor()
    await page.getByText('1 not enough serving').waitFor()
    const isWithin = () =>
      page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)
    await rowsOf(page, 8)
    expect(await isWithin()).toBe(true)
    await page.setViewportSize({ width: 360, height: 900 })
    await keepPicture(page, 'phone')
    await page.goto(`${world.origin}/console#/jobs?phase=open`)
    await rows(page).filter({ hasText: 'open' }).first().getByRole('link').click()
    await page.getByText('Until the job has settled').waitFor()
    await keepPicture(page, 'waiting')
    await page.setViewportSize({ width: 320, height: 640 })
    for (const place of ['nodes', 'jobs', 'own']) {
      await page.goto(`${world.origin}/console#/${place}`)
      await page.getByRole('heading', { level: 2 }).first().waitFor()
      expect([place, await isWithin()]).toEqual([place, true])
    }
    await page.goto(`${world.origin}/console#/nodes/${nodeAt(3)}`)
    await page.getByRole('heading', { name: /^Node 0xa7/ }).waitFor()
    await rows(page).first().waitFor({ state: 'hidden' })
    expect(await isWithin()).toBe(true)
    expect(problems).toEqual([])
    await close()
  },
)

itInBrowser(
  `the console of an operator with a token${browserNote} says when a token is wrong`,
  async () => {
    const access = { ...openAccess, console: 'token', metricsToken: 'right-token-12345' } as const
    const { icl, origin, stop } = await startConsoleWorld({ nodes: 0, jobs: 0, access })
    const context = await browser!.newContext()
    const page = await context.newPage()
    await page.goto(`${origin}/console`)
    const give = async (token: string) => {
      await page.getByLabel('Token', { exact: true }).fill(token)
      await page.getByRole('button', { name: 'Show the console' }).click()
    }
    await page.getByLabel('Token', { exact: true }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await give('wrong')
    await page.getByRole('alert').filter({ hasText: 'refuses this token' }).waitFor()
    await give('right-token-12345')
    await timeBrings(page.getByText('live', { exact: true }), 50, icl)
    await context.close()
    await stop()
  },
)
