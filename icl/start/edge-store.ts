import { toBase64Url } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { createMemoryStore } from '../store/memory.ts'
import type { Log } from '../telemetry/log.ts'
import { version } from '../version.ts'
import type { OpenedStore } from './host.ts'
import type { Settings } from './settings.ts'

/**
 * Opens the store of an ICL on an edge host: `memory:`, or MongoDB without a journal, so that saves are refused while it is away.
 * Throws SvcError `store-unavailable` for a sqlite file, and `settings-invalid` for a journal's folder.
 */
export async function openEdgeStore(
  {
    SVC_ICL_DATABASE_URL: url,
    SVC_ICL_JOURNAL_DIR: folder,
  }: Pick<Settings, 'SVC_ICL_DATABASE_URL' | 'SVC_ICL_JOURNAL_DIR'>,
  log: Log,
): Promise<OpenedStore> {
  if (folder !== undefined && folder !== 'off') {
    throw new SvcError('settings-invalid', 'An edge host has no folder for a journal', {
      hint: 'Set SVC_ICL_JOURNAL_DIR to off, or leave it out.',
    })
  }
  const replicaId = toBase64Url(random.bytes(12))
  if (url === 'memory:') return { store: createMemoryStore(), replicaId }
  if (url.startsWith('sqlite:')) {
    throw new SvcError('store-unavailable', 'An edge host has no disk for a sqlite file', {
      hint: 'Set SVC_ICL_DATABASE_URL to mongodb://..., or to memory: to try it out.',
    })
  }
  // Apart from the rest: only these parts need the host's node: modules.
  const [{ createMongoOpener }, { openFallbackStore }, { createNoJournal }] = await Promise.all([
    import('../store/mongodb.ts'),
    import('../store/fallback.ts'),
    import('../store/journal-none.ts'),
  ])
  const journal = createNoJournal()
  const open = createMongoOpener({ url, clock, random, log })
  log.info('There is no journal on an edge host: saves are refused while MongoDB is away')
  return {
    store: await openFallbackStore({ open, journal, replicaId, version, clock, random, log }),
    replicaId,
  }
}
