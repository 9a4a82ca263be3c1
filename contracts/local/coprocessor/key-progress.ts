// The time on an idle core.
const usualSeconds = 75
const everyMs = 5_000

/** Says every few seconds how long keys have been in the making. The returned function ends it. */
export const tellKeyProgress = (tell: (line: string) => void): (() => void) => {
  const since = performance.now()
  const seconds = () => Math.round((performance.now() - since) / 1000)
  tell(`Making keys, once (about ${usualSeconds} s of computing) ...`)
  const timer = setInterval(() => tell(`  making keys: ${seconds()} s`), everyMs)
  return () => {
    clearInterval(timer)
    tell(`  that took ${seconds()} s`)
  }
}
