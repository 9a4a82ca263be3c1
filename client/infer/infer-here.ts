import type { Prover } from '../../lib/coprocessor/prover.ts'
import { runHere } from '../../lib/host/program/run-program.ts'
import { stopSignal } from '../../lib/host/stop-signals.ts'
import { wholeOutput } from '../../lib/host/whole-output.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { inferProgram } from './run-infer.ts'

/** Runs one prompt with the streams and settings of this process, and ends it. */
export const inferHere = (args: readonly string[], prover?: Prover): Promise<never> =>
  runHere(
    inferProgram,
    () => ({
      environment: process.env,
      input: process.stdin,
      output: wholeOutput(process.stdout),
      errors: wholeOutput(process.stderr),
      clock: systemClock,
      random: systemRandom,
      prover,
      signal: stopSignal({ outputs: [process.stdout, process.stderr] }),
    }),
    { args },
  )
