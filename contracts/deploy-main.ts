import { createInterface } from 'node:readline/promises'
import { runHere } from '../lib/host/program/run-program.ts'
import { Interrupted, stopSignal } from '../lib/host/stop-signals.ts'
import { deployProgram } from './deploy-command.ts'

const signal = stopSignal()

const confirm = async (question: string): Promise<boolean> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question, { signal })).trim())
  } catch {
    // Ctrl-C and Ctrl-D reach the question and not the process.
    throw new Interrupted('the operator', 130)
  } finally {
    lines.close()
  }
}

const isInteractive = process.stdin.isTTY && process.stderr.isTTY
await runHere(deployProgram, (lines) => ({
  ...lines,
  environment: process.env,
  confirm: isInteractive ? confirm : undefined,
  signal,
}))
