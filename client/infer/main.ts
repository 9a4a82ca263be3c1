// Sends one prompt and prints its answer: npm run infer -- "PROMPT"

import { Interrupted, stopSignal } from '../../lib/host/stop-signals.ts'
import { wholeOutput } from '../../lib/host/whole-output.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { runInfer } from './run-infer.ts'

const signal = stopSignal({ outputs: [process.stdout, process.stderr] })
const errors = wholeOutput(process.stderr)
const exitCode = await runInfer(process.argv.slice(2), {
  environment: process.env,
  input: process.stdin,
  output: wholeOutput(process.stdout),
  errors,
  clock: systemClock,
  random: systemRandom,
  signal,
})
await errors.written().catch(() => {})
process.exit(signal.reason instanceof Interrupted ? signal.reason.exitCode : exitCode)
