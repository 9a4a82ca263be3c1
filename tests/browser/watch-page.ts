import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

/** What a page must not do, as it happens: errors on its console, errors of its scripts, requests to other origins than the given. */
export function watchPage(page: Page, origins: readonly string[]): readonly string[] {
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`))
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    // Neither leaves the page.
    if (protocol === 'data:' || protocol === 'blob:') return
    if (!origins.includes(origin)) problems.push(`request: ${request.url()}`)
  })
  return problems
}

/** What axe finds, each with the elements that it is about; by all its rules, or by those given. */
export async function violationsOf(
  page: Page,
  rules?: readonly string[],
): Promise<readonly string[]> {
  // Evaluated, not added as a script: the page's own policy stays as it is.
  await page.evaluate(axe.source)
  const options = {
    resultTypes: ['violations'],
    preload: false,
    ...(rules && { runOnly: [...rules] }),
  }
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, ${JSON.stringify(options)})`,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}
