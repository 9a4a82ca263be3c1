// Sends one prompt and prints its answer: npm run infer -- "PROMPT"

import { wholeOutput } from '../../lib/host/whole-output.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { runInfer } from './run-infer.ts'
import { Interrupted, stopSignal } from './stop-signals.ts'

const signal = stopSignal([process.stdout, process.stderr])
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
