import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { it } from 'vitest'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser']
const startMs = 240_000

const path = [process.env.CHROMIUM, ...places].find(
  (place) => place !== undefined && existsSync(place),
)
const whyNot =
  path === undefined
    ? 'Chromium is not installed (node scripts/install-tools.mjs installs it on Debian; CHROMIUM names another)'
    : undefined
if (whyNot !== undefined && process.env.CI === 'true') throw new Error(whyNot)

/** `it` where Chromium is installed; in CI it has to be. */
export const itInBrowser = whyNot === undefined ? it : it.skip

/** Why tests in a browser are skipped, for their names; nothing when they are not. */
export const browserNote = whyNot === undefined ? '' : `: ${whyNot}`

/** Starts a headless Chromium; undefined where there is none. The caller closes it. */
export async function startChromium(): Promise<Browser | undefined> {
  if (path === undefined) return undefined
  return chromium.launch({
    executablePath: path,
    headless: true,
    timeout: startMs,
    // Its sandbox does not work for root, as in containers; it sees no page but ours.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}
