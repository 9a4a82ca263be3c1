import { type StepNews, stepLabels } from '../../lib/client/steps.ts'
import { printable } from '../../lib/host/printable.ts'

/** Where text is shown. */
export type Screen = {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

/** Tells the steps of an inference, a line for each. */
export type Progress = {
  readonly onStep: (news: StepNews) => void
  /** A line beside the steps. */
  readonly say: (line: string) => void
  /** No step runs any more: what was running has failed. */
  readonly stop: () => void
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100
// Without a terminal a slow step says every few seconds that it goes on.
const plainEveryMs = 5_000
const textWidth = 58
const eraseLine = '\r\u001b[2K'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`.padStart(8)
const oneLine = (text: string): string => printable(text.replace(/\s+/g, ' '))

/** Tells steps on a screen: in a terminal the running step's line moves, elsewhere each line is written once. */
export function createProgress(screen: Screen, now: () => number): Progress {
  let running: { label: string; since: number; detail: string; frame: number } | undefined
  let timer: ReturnType<typeof setInterval> | undefined

  const lineOf = (mark: string, detail: string): string => {
    if (running === undefined) return ''
    const { label, since } = running
    const width = screen.isTTY
      ? Math.max(10, Math.min(textWidth, (screen.columns || 80) - 12))
      : textWidth
    const text = detail === '' ? label : `${label}: ${detail}`
    const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text
    return `${mark} ${cut.padEnd(width)} ${seconds(now() - since)}`
  }
  const draw = () => {
    if (running === undefined) return
    running.frame += 1
    if (screen.isTTY) {
      const mark = frames[running.frame % frames.length] ?? '…'
      screen.write(`${eraseLine}${lineOf(mark, running.detail)}`)
    } else screen.write(`${lineOf('…', running.detail)}\n`)
  }
  const end = (mark: string) => {
    clearInterval(timer)
    if (running !== undefined) {
      screen.write(`${screen.isTTY ? eraseLine : ''}${lineOf(mark, '')}\n`)
    }
    running = undefined
  }
  return {
    onStep: ({ step, phase, detail }) => {
      if (phase === 'start') {
        running = { label: stepLabels[step], since: now(), detail: '', frame: 0 }
        timer = setInterval(draw, screen.isTTY ? frameMs : plainEveryMs)
        if (screen.isTTY) draw()
      } else if (phase === 'end') end('✓')
      else if (phase === 'failed') end('✗')
      else if (running !== undefined) running.detail = oneLine(detail ?? '')
    },
    say: (line) => screen.write(`${screen.isTTY ? eraseLine : ''}${printable(line)}\n`),
    stop: () => end('✗'),
  }
}

/** Tells no steps, but what is to be said. */
export const quietProgress = (screen: Screen): Progress => ({
  onStep: () => {},
  say: (line) => screen.write(`${printable(line)}\n`),
  stop: () => {},
})
