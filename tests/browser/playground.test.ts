import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { z } from 'zod'
import { runInfer } from '../../client/infer/run-infer.ts'
import { clientEnvironment } from '../../demo/client-environment.ts'
import { createApi } from '../../lib/api.ts'
import { JobId } from '../../lib/codecs.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { until } from '../eventually.ts'
import { browserNote, itInBrowser, startChromium } from './chromium.ts'
import { type PlaygroundWorld, playgroundAnswer, startPlaygroundWorld } from './playground-world.ts'
import { giveStubWallet } from './stub-wallet.ts'
import { violationsOf, watchPage } from './watch-page.ts'

// What a page may take for one thing; a test that waits for longer says for what.
const pageMs = 150_000
const pictures = join(import.meta.dirname, '..', '..', 'docs', 'img')
const jobUrl = /\/v1\/inference\/(0x[0-9a-f]{64})(?:\/events)?$/
const question = 'Explain in two sentences why lighthouses rotate their light.'

let browser: Browser | undefined
let place: PlaygroundWorld | undefined

beforeAll(async () => {
  browser = await startChromium()
  if (browser) place = await startPlaygroundWorld('mock')
})

afterAll(async () => {
  await browser?.close()
  await place?.stop()
})

const parts = (): { readonly browser: Browser; readonly place: PlaygroundWorld } => {
  if (browser === undefined || place === undefined) throw new TypeError('There is no browser')
  return { browser, place }
}

/** A page of its own in a window of its own, with whatever it does wrong. */
async function newPage(viewport = { width: 1280, height: 900 }) {
  const { browser: own, place: world } = parts()
  const context = await own.newContext({ viewport, colorScheme: 'light' })
  const page = await context.newPage()
  page.setDefaultTimeout(pageMs)
  return { page, problems: watchPage(page, world.origins), close: () => context.close() }
}

const picture = async (page: Page, name: string): Promise<void> => {
  if (process.env.UPDATE_SCREENSHOTS !== '1') return
  await page.screenshot({ path: join(pictures, `playground-${name}.png`), fullPage: true })
}

const run = async (page: Page, prompt: string): Promise<void> => {
  await page.getByLabel('Prompt').fill(prompt)
  await page.getByRole('button', { name: 'Encrypt and run' }).click()
}

/** Waits until an element is there and in the upper half of the window. */
const isInView = (page: Page, id: string) =>
  page.waitForFunction((wanted) => {
    const top = document.getElementById(wanted)?.getBoundingClientRect().top ?? -1
    return top >= 0 && top < innerHeight / 2
  }, id)

const checksOf = (page: Page): Promise<(string | null)[]> =>
  page
    .locator('[data-passed]')
    .evaluateAll((items) => items.map((item) => item.getAttribute('data-passed')))

const stepsOf = (page: Page): Promise<(string | null)[]> =>
  page
    .locator('[data-step]')
    .evaluateAll((items) => items.map((item) => item.getAttribute('data-status')))

/** What a page has left in the browser's storage. */
const keptIn = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const databases = await indexedDB.databases()
    const names = databases.map(({ name = '' }) => `database ${name}`)
    return [...Object.keys(localStorage), ...Object.keys(sessionStorage), ...names]
  })

/** What `svc infer --open` prints of a job. */
async function openedBy(environment: NodeJS.ProcessEnv, jobId: string): Promise<string> {
  let printed = ''
  const write = (text: string) => {
    printed += text
    return true
  }
  const exitCode = await runInfer(['--open', jobId, '--json'], {
    ...{ environment, output: { write }, errors: { write: () => true } },
    input: (async function* () {})(),
    ...{ clock: systemClock, random: systemRandom, signal: new AbortController().signal },
  })
  expect(exitCode).toBe(0)
  return z.object({ output: z.string() }).parse(JSON.parse(printed)).output
}

describe(`the playground in a browser${browserNote}`, () => {
  itInBrowser(
    'runs a prompt with a throw-away key, shows each step, and checks the receipt',
    async () => {
      const { page, problems, close } = await newPage()
      await page.goto(parts().place.url)
      const button = page.getByRole('button', { name: 'Encrypt and run' })
      await button.waitFor()
      expect(await button.isDisabled()).toBe(true)
      await page.getByLabel('Prompt').fill(question)
      await picture(page, 'start')
      expect(await violationsOf(page)).toEqual([])
      // By keyboard alone: from the prompt to the button, past model, account and options.
      await page.getByLabel('Prompt').focus()
      for (let tabs = 0; tabs < 4; tabs++) await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')

      await page.getByRole('heading', { name: 'Receipt' }).waitFor()
      expect(await page.locator('.answer').innerText()).toBe(playgroundAnswer)
      expect(await page.locator('.answer b').count()).toBe(0)
      expect(await checksOf(page)).toEqual(Array.from({ length: 11 }, () => 'true'))
      expect(await stepsOf(page)).toEqual(Array.from({ length: 13 }, () => 'done'))
      await page.getByText('it has all 3 active nodes').waitFor()
      const rows = (await page.locator('tr[data-part]').allInnerTexts()).map((row) => {
        const [part, , lastDid] = row.split('\t')
        return `${part}: ${lastDid}`
      })
      // On a starved machine a node may be too late, and get its seat again. Any of them may deliver.
      const inTime = rows.filter((row) => !row.endsWith('was too late'))
      expect(inTime.toSorted()).toEqual([
        'Deliverer: delivered its answer',
        'Member: checked the delivery: match',
        'Member: checked the delivery: match',
      ])
      expect(await keptIn(page)).toEqual([])
      expect(await violationsOf(page)).toEqual([])
      await picture(page, 'done')
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await violationsOf(page)).toEqual([])
      await picture(page, 'dark')

      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download the receipt' }).click()
      const file = await (await downloading).path()
      const receipt = z.decode(Receipt, JSON.parse(await readFile(file, 'utf8')))
      await verifyReceipt(receipt)
      expect(await page.locator('.facts').innerText()).toContain(await receiptHash(receipt))
      expect(problems).toEqual([])
      await close()
    },
  )

  itInBrowser(
    'runs a prompt with a wallet, which signs and sends everything itself, and whose command opens it again',
    async () => {
      const { place: world } = parts()
      const { page, problems, close } = await newPage()
      const { chain } = world.world
      const connecting = Promise.withResolvers<void>()
      const { asked } = await giveStubWallet(page, chain.client, chain, connecting.promise)
      await page.goto(world.url)
      await page.getByLabel('Account').selectOption('Stub wallet')
      // Cancelled while the wallet still asks its user; the next run takes the same question's answer.
      await run(page, question)
      await page.getByText('Waiting for Stub wallet').first().waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('heading', { name: 'Cancelled' }).waitFor()
      await run(page, question)
      await page.getByText('Waiting for Stub wallet').first().waitFor()
      const following = page.waitForRequest((request) => jobUrl.test(request.url()))
      connecting.resolve()
      await page.getByRole('heading', { name: 'Receipt' }).waitFor()
      expect(await checksOf(page)).toEqual(Array.from({ length: 11 }, () => 'true'))
      expect(asked.filter((method) => method === 'eth_requestAccounts')).toHaveLength(1)
      // The key is stored, and then bound to its list.
      expect(asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(2)
      // A permit, and the secret of its jobs, twice, since this browser does not know the wallet yet.
      expect(asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(3)
      expect(asked).toContain('personal_sign')
      const jobId = jobUrl.exec((await following).url())?.[1] ?? ''
      expect(await openedBy(await clientEnvironment(world.world), jobId)).toBe(playgroundAnswer)
      expect(problems).toEqual([])
      await close()
    },
  )

  itInBrowser(
    'shows on a phone what happens, then the answer, without being scrolled',
    async () => {
      const { place: world } = parts()
      const { page, problems, close } = await newPage({ width: 390, height: 844 })
      const connecting = Promise.withResolvers<void>()
      await giveStubWallet(page, world.world.chain.client, world.world.chain, connecting.promise)
      await page.goto(world.url)
      await page.getByLabel('Account').selectOption('Stub wallet')
      await run(page, question)
      await isInView(page, 'steps-title')
      const sizes = await page.locator('form .actions button').evaluateAll((buttons) =>
        buttons.map((button) => {
          const { width, height, bottom } = button.getBoundingClientRect()
          return { area: width * height, isInView: bottom > 0 }
        }),
      )
      const [send, cancel] = sizes
      expect(cancel?.isInView).toBe(true)
      expect((cancel?.area ?? 0) * 3).toBeLessThan(send?.area ?? 0)
      connecting.resolve()
      await isInView(page, 'answer-title')
      expect(await page.locator('.answer').innerText()).toBe(playgroundAnswer)
      expect(await page.locator('[data-passed]').first().isVisible()).toBe(false)
      await page.getByText('Each check').click()
      expect(await page.locator('[data-passed]').first().isVisible()).toBe(true)
      expect(await violationsOf(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      expect(problems).toEqual([])
      await close()
    },
  )

  itInBrowser('cancels a job at the ICL, and says so', async () => {
    const { place: world } = parts()
    const { page, problems, close } = await newPage()
    await page.goto(world.url)
    // A browser need not keep what it was answered; what it asks for says as much.
    const looking = page.waitForRequest(
      (request) => request.method() === 'GET' && jobUrl.test(request.url()),
    )
    await run(page, `Please ${world.holdWord}.`)
    // Claimed: from then on only its client ends it.
    await page.getByText('claimed its assignment').first().waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('heading', { name: 'Cancelled' }).waitFor()
    const look = await looking
    const jobId = JobId.parse(jobUrl.exec(look.url())?.[1])
    const readToken = z
      .string()
      .parse(look.headers().authorization)
      .replace(/^Bearer /, '')
    const api = createApi({
      baseUrl: world.world.icl.url,
      fetch: (request) => fetch(request),
      clock: systemClock,
      random: systemRandom,
    })
    const statusNow = async () =>
      (await api.getJob({ params: { jobId } }, { readToken, attempts: 5 })).status
    // On a starved machine the page gives up waiting for the ICL before the ICL has come to it.
    await until(async () => !['open', 'running'].includes(await statusNow()))
    expect(await statusNow()).toBe('cancelled')
    expect(await page.getByRole('button', { name: 'Encrypt and run' }).isEnabled()).toBe(true)
    expect(problems).toEqual([])
    world.release()
    await close()
  })
})
