// An ICL as it is deployed, but for the chain, which the test serves: the application, the passes and the store are the real ones.
import { openAccess } from '../../icl/access.ts'
import { createApp } from '../../icl/app.ts'
import { runPasses } from '../../icl/background/passes.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import { createClockWatch } from '../../icl/clock-watch.ts'
import { deriveKeys } from '../../icl/keys.ts'
import { noMetrics } from '../../icl/metrics/metrics.ts'
import { createOutages } from '../../icl/outages.ts'
import { createPool } from '../../icl/pool.ts'
import { createRevocations } from '../../icl/revocations.ts'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import { listen } from '../../icl/start/listen.ts'
import { createJsonLog } from '../../icl/start/log.ts'
import { openServiceStore } from '../../icl/start/open-store.ts'
import { version } from '../../icl/version.ts'
import { createWaiters } from '../../icl/waiters.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { origin } from '../icl/test-icl.ts'
import { sampleNetwork } from '../sample-network.ts'
import { connectChain } from './remote-chain.ts'

const { DATABASE_URL = '', JOURNAL_DIR, CHAIN_URL = '', PORT = '0' } = process.env

process.stdin.on('end', () => process.exit(1)).resume()

const log = createJsonLog(clock, 'info', (line) => process.stderr.write(line))

const opened = await openServiceStore(
  { SVC_ICL_DATABASE_URL: DATABASE_URL, SVC_ICL_JOURNAL_DIR: JOURNAL_DIR },
  log,
)
const { store } = opened
const chain = connectChain(CHAIN_URL)
const deps = {
  clock,
  random,
  replicaId: opened.replicaId,
  store,
  chain,
  blobs: createStoredBlobs(store, 8 * 1024 * 1024, clock),
  pool: createPool({ store, chain, clock }),
  outages: createOutages({ store, clock, log }),
  clockWatch: createClockWatch({ clock, chain, log, aheadMs: () => 0 }),
  keys: await deriveKeys(new Uint8Array(32).fill(1)),
  waiters: createWaiters(clock),
  log,
  metrics: noMetrics,
  network: sampleNetwork({ version, public_url: origin, chain_id: 31_337, coordinator }),
  limits: defaultJobLimits,
  access: openAccess,
  mockAttestationKey: new Uint8Array(16).fill(7),
  revocations: createRevocations({ store, clock }, new Set()),
}
const server = listen(createApp(deps), { hostname: '127.0.0.1', port: Number(PORT) })
process.stdout.write(`listening at ${server.port}\n`)
const stop = new AbortController()
process.once('SIGTERM', () => {
  stop.abort()
  deps.waiters.close()
})
await runPasses(deps, stop.signal)
await server.stop(true)
await store.close()
process.exit(0)
