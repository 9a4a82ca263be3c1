import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { type LocalServer, startServer } from '../local-server.ts'
import { bundle } from '../runtimes/inside/bundle.ts'
import type { CaseResult } from '../runtimes/inside/case.ts'
import { cases } from '../runtimes/inside/run-cases.ts'
import { browserNote, itInBrowser, startChromium } from './chromium.ts'

let browser: Browser | undefined
let server: LocalServer
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-offline-'))
  // A page has to come from somewhere: only then is it given WebCrypto.
  server = await startServer((response) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>Here</title>')
  })
  browser = await startChromium()
})

afterAll(async () => {
  await browser?.close()
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

itInBrowser(
  `a page in a browser without a network${browserNote} does the same as every other runtime: it checks receipts of every rule, signatures and attestations`,
  async () => {
    if (!browser) throw new TypeError('There is no browser')
    const file = join(folder, 'cases.js')
    await bundle('page.ts', 'iife', file)
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(server.url)
    await context.setOffline(true)
    const isReached = await page.evaluate(() =>
      fetch('/').then(
        () => true,
        () => false,
      ),
    )
    expect(isReached).toBe(false)
    await page.evaluate(await readFile(file, 'utf8'))
    const results = await page.evaluate<readonly CaseResult[]>('runCases()')
    expect(results.filter(({ error }) => error !== undefined)).toEqual([])
    expect(results.map(({ name }) => name)).toEqual(cases.map(({ name }) => name))
    await context.close()
  },
)
