import { runOnly as run } from '../lib/host/program/run-program.ts'
import { wholeOutput } from '../lib/host/whole-output.ts'
import { SvcError } from '../lib/svc-error.ts'

/** Prints text of any number of lines. The program waits until it has left the process. */
export const print = (text: string): void => void wholeOutput(process.stdout).write(`${text}\n`)

/** Runs this process as a program of one command, and shows where an unexpected error was thrown. */
export const runOnly: typeof run = (typed, only, how) =>
  run(typed, { ...only, run: (given, lines) => only.run(given, lines).catch(tellStack) }, how)

function tellStack(error: unknown): never {
  if (error instanceof Error && !(error instanceof SvcError)) {
    process.stderr.write(`${error.stack}\n`)
  }
  throw error
}
