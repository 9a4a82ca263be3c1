import { stripVTControlCharacters } from 'node:util'
import { systemClock } from '../../../lib/system.ts'
import { builtBinary } from '../../binary/executable.ts'

const binary = await builtBinary()
const patienceMs = 240_000

export const enter = '\r'
export const up = '\u001b[A'
export const ctrlC = '\u0003'
export const ctrlD = '\u0004'

/** A command on a real terminal, typed at by a test. */
export type OnTerminal = {
  /** Waits for a text that was not waited for before, then types. */
  readonly answer: (text: string, typed: string) => Promise<void>
  /** Everything it wrote, without colours and cursor moves. */
  readonly screen: () => string
  readonly exited: Promise<number>
  readonly stop: () => void
}

/** Runs `svc-node` on a pseudo-terminal. */
export function runOnTerminal(args: readonly string[], env: Record<string, string>): OnTerminal {
  const decoder = new TextDecoder()
  let written = ''
  let seen = 0
  const child = Bun.spawn([binary, ...args], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...env },
    terminal: {
      cols: 120,
      rows: 40,
      data: (_, data) => {
        written += decoder.decode(data, { stream: true })
      },
    },
  })
  const screen = () => stripVTControlCharacters(written)
  return {
    screen,
    answer: async (text, typed) => {
      const until = performance.now() + patienceMs
      for (;;) {
        const at = screen().indexOf(text, seen)
        if (at >= 0) {
          seen = at + text.length
          break
        }
        if (performance.now() > until || child.exitCode !== null) {
          throw new Error(`the terminal never showed ${JSON.stringify(text)}:\n${screen()}`)
        }
        await systemClock.sleep(20)
      }
      // The prompt reads keys only once it is drawn.
      await systemClock.sleep(100)
      child.terminal?.write(typed)
    },
    exited: child.exited,
    stop: () => child.kill('SIGKILL'),
  }
}
