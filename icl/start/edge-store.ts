import { toBase64Url } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { OpenedStore } from './host.ts'
import type { Settings } from './settings.ts'

/**
 * Opens the store of an ICL on an edge host: `memory:`, or MongoDB without a local copy, so that all requests wait while it is away.
 * Throws SvcError `store-unavailable` for a sqlite file, and `settings-invalid` for a local copy.
 */
export async function openEdgeStore(
  {
    SVC_ICL_DATABASE_URL: url,
    SVC_ICL_LOCAL_COPY: file,
  }: Pick<Settings, 'SVC_ICL_DATABASE_URL' | 'SVC_ICL_LOCAL_COPY'>,
  log: Log,
): Promise<OpenedStore> {
  if (file !== undefined && file !== 'off') {
    throw new SvcError('settings-invalid', 'An edge host has no disk for a local copy', {
      hint: 'Set SVC_ICL_LOCAL_COPY to off, or leave it out.',
    })
  }
  const replicaId = toBase64Url(random.bytes(12))
  if (url === 'memory:') return { store: createMemoryStore(), replicaId }
  if (url.startsWith('sqlite:')) {
    throw new SvcError('store-unavailable', 'An edge host has no disk for a sqlite file', {
      hint: 'Set SVC_ICL_DATABASE_URL to mongodb://..., or to memory: to try it out.',
    })
  }
  // Imported only here, because these modules need the host's node: modules.
  const [{ createMongoStore }, { openBridge }] = await Promise.all([
    import('../store/mongodb/store.ts'),
    import('../store/bridge/bridge.ts'),
  ])
  const open = async () => createMongoStore({ url, clock, random, log })
  log.info('There is no local copy on an edge host: everything waits while MongoDB is away')
  const copy = undefined
  return { store: await openBridge({ open, copy, replicaId, clock, random, log }), replicaId }
}
