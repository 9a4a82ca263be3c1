import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bundle } from '../../web/bundle.ts'
import { servePage } from '../packaging/browser-page.ts'
import { testFolder } from '../test-folder.ts'
import { browserNote, itInBrowser, startChromium } from './chromium.ts'

const isLong = process.env.SVC_LONG_TESTS === '1'
const patienceMs = 600_000

const itLong = isLong ? itInBrowser : it.skip
itLong(
  `a browser makes a proof on its main thread that a coprocessor opens${isLong ? browserNote : ': runs with SVC_LONG_TESTS=1'}`,
  async () => {
    const folder = testFolder()
    const wasm = 'tfhe_bg.wasm'
    await copyFile(join(import.meta.dirname, '../../node_modules/tfhe', wasm), join(folder, wasm))
    await writeFile(
      join(folder, 'main.js'),
      await bundle(join(import.meta.dirname, 'proof-page.ts')),
    )
    await writeFile(join(folder, 'index.html'), '<script type="module" src="main.js"></script>')
    const served = await servePage(folder)
    const browser = await startChromium()
    try {
      const page = await browser?.newPage()
      await page?.goto(served.url)
      expect(await page?.evaluate('proven([5, 6])')).toEqual([5, 6])
    } finally {
      await browser?.close()
      await served.close()
    }
  },
  patienceMs,
)
