import { stopSignal } from '../../lib/host/stop-signals.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { runGateway } from '../gateway/run-gateway.ts'
import { listen } from './listen.ts'
import { createThreadProver } from './thread-prover.ts'

for (const stream of [process.stdout, process.stderr]) {
  // A log that nobody reads any more is no reason to end.
  stream.on('error', () => {})
}

const exitCode = await runGateway(process.argv.slice(3), {
  environment: process.env,
  print: (line) => process.stdout.write(`${line}\n`),
  clock: systemClock,
  random: systemRandom,
  prover: createThreadProver(),
  signal: stopSignal(),
  listen,
})
process.exit(exitCode)
