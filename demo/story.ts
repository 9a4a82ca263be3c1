import type { WholeOutput } from '../lib/host/whole-output.ts'

/** Reports steps while they run. */
export type Reporter = {
  /** Runs `body` as one step. `progress` reports the state of a slow step. */
  readonly step: <T>(
    label: string,
    body: (progress: (detail: string) => void) => Promise<T>,
  ) => Promise<T>
}

/** Reports nothing. */
export const silentReporter: Reporter = { step: (_, body) => body(() => {}) }

/** Prints progress step by step, with times. */
export type Story = Reporter & {
  readonly say: (text?: string) => void
  /** Begins a step explicitly. One step runs at a time. */
  readonly begin: (label: string) => void
  readonly progress: (detail: string) => void
  readonly end: (mark?: 'ok' | 'failed') => void
}

const frameMs = 100
// Without a terminal a slow step prints a line every few seconds.
const plainEveryMs = 5_000
const labelWidth = 58

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`.padStart(8)

/** Makes a story. On a terminal it rewrites the line of the running step in place. */
export function createStory(output: WholeOutput): Story {
  let running: { label: string; since: number; detail: string; timer: Timer } | undefined

  const lineOf = (mark: string): string => {
    if (running === undefined) return ''
    const { label, since, detail } = running
    const text = detail === '' ? label : `${label}: ${detail}`
    const room = output.isTTY ? Math.min(labelWidth, output.columns - 14) : labelWidth
    const cut = output.isTTY && text.length > room ? `${text.slice(0, room - 1)}…` : text
    return `${mark} ${cut.padEnd(room)} ${seconds(performance.now() - since)}`
  }
  const draw = (mark: string, last: boolean) => {
    if (output.isTTY) void output.write(`\r\u001b[2K${lineOf(mark)}${last ? '\n' : ''}`)
    else void output.write(`${lineOf(mark)}\n`)
  }
  const begin = (label: string) => {
    if (running !== undefined) end()
    const timer = setInterval(() => draw('  …', false), output.isTTY ? frameMs : plainEveryMs)
    running = { label, since: performance.now(), detail: '', timer }
    if (output.isTTY) draw('  …', false)
  }
  const end = (mark: 'ok' | 'failed' = 'ok') => {
    if (running === undefined) return
    clearInterval(running.timer)
    if (mark === 'ok') running.detail = ''
    draw(mark === 'ok' ? '  ✓' : '  ✗', true)
    running = undefined
  }
  const progress = (detail: string) => {
    if (running !== undefined) running.detail = detail
  }
  return {
    say: (text = '') => void output.write(`${text}\n`),
    begin,
    progress,
    end,
    step: async (label, body) => {
      begin(label)
      try {
        const result = await body(progress)
        end()
        return result
      } catch (error) {
        end('failed')
        throw error
      }
    },
  }
}
