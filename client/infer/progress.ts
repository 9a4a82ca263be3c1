import { type InferenceStep, type StepNews, stepLabels } from '../../lib/client/steps.ts'
import { oneLine, printableLine } from '../../lib/printable.ts'

/** Where text is shown. */
export type Screen = {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

/** Shows the steps of an inference, one per line. */
export type Progress = {
  readonly onStep: (news: StepNews) => void
  /** A line beside the steps. */
  readonly say: (line: string) => void
  /** Ends all running steps as failed. */
  readonly stop: () => void
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100
// Without a terminal a slow step says every few seconds that it goes on.
const plainEveryMs = 5_000
const textWidth = 58
const eraseLine = '\r\u001b[2K'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`.padStart(8)

type Running = { readonly label: string; readonly since: number; detail: string; frame: number }

/** Shows steps: a terminal has an animated line for the newest step, other outputs get plain lines. */
export function createProgress(screen: Screen, now: () => number): Progress {
  const running = new Map<InferenceStep, Running>()
  let timer: ReturnType<typeof setInterval> | undefined

  const lineOf = (mark: string, { label, since }: Running, detail: string): string => {
    const width = screen.isTTY
      ? Math.max(10, Math.min(textWidth, (screen.columns || 80) - 12))
      : textWidth
    const text = detail === '' ? label : `${label}: ${detail}`
    const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text
    return `${mark} ${cut.padEnd(width)} ${seconds(now() - since)}`
  }
  const draw = () => {
    const step = [...running.values()].at(-1)
    if (step === undefined) return
    step.frame += 1
    if (screen.isTTY) {
      const mark = frames[step.frame % frames.length] ?? '…'
      screen.write(`${eraseLine}${lineOf(mark, step, step.detail)}`)
    } else screen.write(`${lineOf('…', step, step.detail)}\n`)
  }
  const watch = () => {
    clearInterval(timer)
    if (running.size === 0) return
    timer = setInterval(draw, screen.isTTY ? frameMs : plainEveryMs)
    if (screen.isTTY) draw()
  }
  const end = (name: InferenceStep, mark: string) => {
    const step = running.get(name)
    if (step === undefined) return
    running.delete(name)
    screen.write(`${screen.isTTY ? eraseLine : ''}${lineOf(mark, step, '')}\n`)
    watch()
  }
  return {
    onStep: ({ step, phase, detail }) => {
      if (phase === 'start') {
        running.set(step, { label: stepLabels[step], since: now(), detail: '', frame: 0 })
        watch()
      } else if (phase === 'end') end(step, '✓')
      else if (phase === 'failed') end(step, '✗')
      else {
        const told = running.get(step)
        if (told !== undefined) told.detail = oneLine(detail ?? '')
      }
    },
    say: (line) => screen.write(`${screen.isTTY ? eraseLine : ''}${printableLine(line)}\n`),
    stop: () => {
      for (const step of running.keys()) end(step, '✗')
    },
  }
}

/** Shows no steps, only the other lines. */
export const quietProgress = (screen: Screen): Progress => ({
  onStep: () => {},
  say: (line) => screen.write(`${printableLine(line)}\n`),
  stop: () => {},
})
