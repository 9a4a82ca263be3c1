import { join } from 'node:path'
import { createApp } from '../../../icl/app.ts'
import { runWorkers } from '../../../icl/background/workers.ts'
import type { Chain } from '../../../icl/chain/chain.ts'
import type { Authenticate } from '../../../icl/http/authenticate.ts'
import { createPool } from '../../../icl/pool/pool.ts'
import { attestedNode, type Certificate } from '../../../icl/rules/eligibility.ts'
import { createDependencies } from '../../../icl/start/dependencies.ts'
import { createMachine } from '../../../icl/start/machine.ts'
import { parseSettings } from '../../../icl/start/settings.ts'
import { Address } from '../../../lib/codecs.ts'
import { aHash } from '../../branded.ts'
import { createOpenChain } from '../../contention/chain.ts'
import { sampleReading } from '../../sample-reading.ts'
import { sampleSettings, withoutLimits } from '../../sample-settings.ts'
import { countCommands, countedApp, countedHost } from './counting.ts'
import { growthCommands } from './growth.ts'
import type { ServerOptions } from './options.ts'
import { prepareCommands } from './prepare.ts'

const environmentOf = ({ databaseUrl, folder, replicas = 1 }: ServerOptions) => ({
  ...sampleSettings,
  ...withoutLimits,
  SVC_ICL_DATABASE_URL: databaseUrl,
  SVC_ICL_LOCAL_COPY: folder === undefined ? 'off' : join(folder, 'copy.db'),
  SVC_ICL_REPLICAS: String(replicas),
  SVC_ICL_MOCK_ATTESTATION_KEY: '07'.repeat(16),
  SVC_ICL_DEFAULT_COMPARATOR: 'exact',
})

/** A chain that answers at once, remembers only which results it was given, and has every one of them for good, or takes none if it stalls. */
function createInstantChain(stalls = false): Chain {
  const committed = new Set<string>()
  return {
    ...createOpenChain(),
    findCommitment: async ({ jobId }) =>
      committed.has(jobId) ? { state: 'deep', tx: aHash(jobId) } : { state: 'absent' },
    commitResults: async (results) => {
      if (stalls) await new Promise(() => {})
      for (const { jobId } of results) committed.add(jobId)
      return aHash(`0x${'f'.repeat(64)}`)
    },
  }
}

/** Believes the address that the key id names, and looks at nothing else. */
const believe: Authenticate = async (_, auth, { headers }) => {
  const name = /svc-node:(0x[0-9a-f]{40}):/.exec(headers.get('signature-input') ?? '')?.[1]
  if (auth === 'none' || name === undefined) return { kind: 'anyone' }
  const address = Address.parse(name)
  return { kind: 'node', address, node: attestedNode(address, {} as Certificate, sampleReading) }
}

/** The ICL with its own settings, store, log and metrics. */
export async function serveIcl(options: ServerOptions) {
  const settings = parseSettings(environmentOf(options))
  const machine = createMachine((line) => process.stderr.write(line))
  const host = options.counts ? await countedHost(machine) : machine
  const given = await createDependencies(settings, host)
  const chain = createInstantChain(options.stalls)
  let held = 0
  const deps = {
    ...given,
    metrics: {
      ...given.metrics,
      held: (...[kind, change]: Parameters<typeof given.metrics.held>) => {
        held += change
        given.metrics.held(kind, change)
      },
    },
    chain,
    pool: createPool({ store: given.store, chain, clock: given.clock }),
  }
  const app = options.kind === 'open' ? createApp(deps, believe) : createApp(deps)
  const over = new AbortController()
  const workers = options.workers ? runWorkers(deps, over.signal) : Promise.resolve()
  return {
    app: options.counts ? countedApp(app) : app,
    commands: {
      ...prepareCommands(deps),
      ...growthCommands(deps),
      ...(options.counts && countCommands),
      held: () => held,
    },
    stop: async () => {
      over.abort()
      deps.notifier.close()
      await workers
      await deps.store.close()
    },
  }
}
