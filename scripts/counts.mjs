/** The last line of a run. */
export const countsLine = ({ passed, failed, skipped = 0 }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/** Reads a JUnit report; undefined when it is not one. */
export const countsOfReport = (xml) => {
  const tag = /<testsuites\b[^>]*>/.exec(xml)?.[0]
  const attribute = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(tag ?? '')?.[1])
  const [tests, failed, skipped] = ['tests', 'failures', 'skipped'].map(attribute)
  if (![tests, failed, skipped].every(Number.isInteger)) return undefined
  return { passed: tests - failed - skipped, failed, skipped }
}
