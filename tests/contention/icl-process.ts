// An ICL as it is, but for its chain, which answers at once, and for its leases, which are over in seconds.
import { createApp } from '../../icl/app.ts'
import { runWorkers } from '../../icl/background/workers.ts'
import { createPool } from '../../icl/pool/pool.ts'
import { createDependencies } from '../../icl/start/dependencies.ts'
import { listen } from '../../icl/start/listen.ts'
import { createMachine } from '../../icl/start/machine.ts'
import { parseSettings } from '../../icl/start/settings.ts'
import { createOpenChain } from './chain.ts'

const settings = parseSettings(process.env)
const given = await createDependencies(
  settings,
  createMachine((line) => process.stderr.write(line)),
)
const chain = createOpenChain()
const deps = {
  ...given,
  chain,
  pool: createPool({ store: given.store, chain, clock: given.clock }),
  limits: { ...given.limits, offerMs: 2_500, leaseMs: 2_500, longestLeaseMs: 2_500, refillMs: 200 },
}
const server = listen(createApp(deps), { hostname: '127.0.0.1', port: 0 })
const stop = new AbortController()
const workers = runWorkers(deps, stop.signal)
process.stdout.write(`${server.port}\n`)
// Ends with its parent process.
for await (const _ of process.stdin);
stop.abort()
deps.notifier.close()
await server.stop(true)
await workers
await deps.store.close()
process.exit(0)
