// Sends one prompt and prints its answer: npm run infer -- "PROMPT"

import { systemClock, systemRandom } from '../../lib/system.ts'
import { runInfer } from './run-infer.ts'
import { Interrupted, stopSignal } from './stop-signals.ts'

const streams = [process.stdout, process.stderr]
const signal = stopSignal(streams)
const exitCode = await runInfer(process.argv.slice(2), {
  environment: process.env,
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
  clock: systemClock,
  random: systemRandom,
  signal,
})
for (const stream of streams) {
  // Leaving would cut off what a pipe has not taken yet.
  await new Promise<void>((resolve) => stream.write('', () => resolve()))
}
process.exit(signal.reason instanceof Interrupted ? signal.reason.exitCode : exitCode)
