// The time on an idle core. On a slower one the bar waits before its end.
const usualSeconds = 75
const plainEveryMs = 5_000
const barEveryMs = 500
const barWidth = 30

/** The output for progress. */
export type ProgressOutput = {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean
}

const barOf = (seconds: number): string => {
  const done = Math.min(barWidth - 1, Math.floor((seconds / usualSeconds) * barWidth))
  return `[${'#'.repeat(done)}${' '.repeat(barWidth - done)}]`
}

/** Shows how long keys have been in the making: a bar on a terminal, else a line every few seconds. The returned function ends it. */
export const tellKeyProgress = (output: ProgressOutput): (() => void) => {
  const since = performance.now()
  const elapsed = () => Math.round((performance.now() - since) / 1000)
  let over = false
  output.write(`Making keys, once (about ${usualSeconds} s of computing) ...\n`)
  const timer = setInterval(
    () => {
      const seconds = elapsed()
      if (output.isTTY) output.write(`\r\u001b[2K  ${barOf(seconds)} ${seconds} s`)
      else output.write(`  making keys: ${seconds} s\n`)
    },
    output.isTTY ? barEveryMs : plainEveryMs,
  )
  return () => {
    if (over) return
    over = true
    clearInterval(timer)
    output.write(`${output.isTTY ? '\r\u001b[2K' : ''}  that took ${elapsed()} s\n`)
  }
}
