import type { Prover } from '../../lib/coprocessor/prover.ts'
import { Interrupted, stopSignal } from '../../lib/host/stop-signals.ts'
import { wholeOutput } from '../../lib/host/whole-output.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { runInfer } from './run-infer.ts'

/** Runs one prompt with the streams and settings of this process, and ends it. */
export async function inferHere(args: readonly string[], prover?: Prover): Promise<never> {
  const signal = stopSignal({ outputs: [process.stdout, process.stderr] })
  const errors = wholeOutput(process.stderr)
  const exitCode = await runInfer(args, {
    environment: process.env,
    input: process.stdin,
    output: wholeOutput(process.stdout),
    errors,
    clock: systemClock,
    random: systemRandom,
    prover,
    signal,
  })
  await errors.written().catch(() => {})
  process.exit(signal.reason instanceof Interrupted ? signal.reason.exitCode : exitCode)
}
