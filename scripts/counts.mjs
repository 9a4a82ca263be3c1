import { stripVTControlCharacters } from 'node:util'

/** Formats the last line of a run. */
export const countsLine = ({ passed, failed }) => `${passed} passed, ${failed} failed`

/** Reads the counts of a JUnit report, undefined when it is not one. */
export const countsOfReport = (xml) => {
  const tag = /<testsuites\b[^>]*>/.exec(xml)?.[0]
  const attribute = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(tag ?? '')?.[1])
  const [tests, failed, skipped] = ['tests', 'failures', 'skipped'].map(attribute)
  if (![tests, failed, skipped].every(Number.isInteger)) return undefined
  return { passed: tests - failed - skipped, failed, skipped }
}

/** Reads the number of failures, files that do not load included, from Bun's last lines. 0 when they have none. */
export const failedOf = (output) =>
  Number(/^ *(\d+) fail$/m.exec(stripVTControlCharacters(output))?.[1] ?? 0)

const entities = { '&quot;': '"', '&apos;': "'", '&lt;': '<', '&gt;': '>', '&amp;': '&' }
const plain = (text) => text.replace(/&(?:quot|apos|lt|gt|amp);/g, (entity) => entities[entity])

/** Returns a line for each skipped test of a JUnit report, then their number. Empty when none was skipped. */
export const skippedLines = (xml) => {
  const cases = xml.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*[^/]>\s*<skipped/g)
  const lines = [...cases].map(([, name, group]) => `skipped: ${plain(group)} > ${plain(name)}`)
  return lines.length > 0 ? [...lines, `${lines.length} skipped`] : []
}

/** Returns a line for each folder of tests with its seconds, longest first. */
export const folderLines = (xml) => {
  const seconds = new Map()
  for (const [, folder, time] of xml.matchAll(
    /<testsuite name="(tests\/[^/"]+)[^"]*\.test\.ts"[^>]* time="([\d.]+)"/g,
  )) {
    seconds.set(folder, (seconds.get(folder) ?? 0) + Number(time))
  }
  return [...seconds]
    .sort(([, a], [, b]) => b - a)
    .map(([folder, time]) => `${time.toFixed(0).padStart(5)} s  ${folder}`)
}
