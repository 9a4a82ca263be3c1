// Serves OpenAI's interface on this machine: npm run gateway

import { stopSignal } from '../../lib/host/stop-signals.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { runGateway } from './run-gateway.ts'

for (const stream of [process.stdout, process.stderr]) {
  // A log that nobody reads any more is no reason to end.
  stream.on('error', () => {})
}

const exitCode = await runGateway(process.argv.slice(2), {
  environment: process.env,
  print: (line) => process.stdout.write(`${line}\n`),
  clock: systemClock,
  random: systemRandom,
  signal: stopSignal(),
  listen: (place, answer) => {
    // A job takes longer than the time after which Bun ends connections that are silent.
    const server = Bun.serve({ ...place, idleTimeout: 0, fetch: answer })
    return {
      port: server.port ?? place.port,
      get pending() {
        return server.pendingRequests
      },
      stop: (cutOff) => server.stop(cutOff),
    }
  },
})
process.exit(exitCode)
