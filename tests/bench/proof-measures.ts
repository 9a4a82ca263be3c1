import { readFile } from 'node:fs/promises'

const tickMs = 5

/** Watches how long the event loop is held up; both give the longest time since the last call, in milliseconds. */
export function watchEventLoop(): { readonly lap: () => number; readonly stop: () => number } {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - tickMs)
    last = now
  }, tickMs)
  const lap = () => {
    const before = longest
    longest = 0
    return Math.round(before)
  }
  return {
    lap,
    stop: () => {
      clearInterval(timer)
      return lap()
    },
  }
}

/** The most memory that a process has had so far, in bytes; undefined where Linux does not tell, or it has ended. */
export async function peakBytes(pid: number | 'self'): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

/** Follows the peak of processes until it is stopped, and gives the highest. */
export function watchPeak(): {
  readonly follow: (pid: number) => void
  readonly stop: () => number
} {
  let pid: number | undefined
  let highest = 0
  const timer = setInterval(async () => {
    if (pid !== undefined) highest = Math.max(highest, (await peakBytes(pid)) ?? 0)
  }, 100)
  return {
    follow: (next) => {
      pid = next
    },
    stop: () => {
      clearInterval(timer)
      return highest
    },
  }
}
