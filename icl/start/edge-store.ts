import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import { type ObjectState, openObjectStore } from '../store/sqlite/object.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { defaultDatabaseUrl, type Settings } from './settings.ts'

/**
 * Opens the store of an ICL on an edge host: the storage of its object when no database is named, `memory:`, or MongoDB without a file,
 * so that all requests wait while it is away. Throws SvcError `store-unavailable` for a sqlite file, `settings-invalid` for
 * SVC_ICL_LOCAL_COPY, and what `openObjectStore` throws.
 */
export async function openEdgeStore(
  {
    SVC_ICL_DATABASE_URL: url,
    SVC_ICL_LOCAL_COPY: file,
  }: Pick<Settings, 'SVC_ICL_DATABASE_URL' | 'SVC_ICL_LOCAL_COPY'>,
  log: Log,
  object: ObjectState,
): Promise<Store> {
  if (file !== undefined && file !== 'off') {
    throw new SvcError('settings-invalid', 'An edge host has no disk for SVC_ICL_LOCAL_COPY', {
      hint: 'Set SVC_ICL_LOCAL_COPY to off, or leave it out.',
    })
  }
  if (url === 'memory:') return createMemoryStore()
  if (url === defaultDatabaseUrl) return openObjectStore(object, log).ahead()
  if (url.startsWith('sqlite:')) {
    throw new SvcError('store-unavailable', 'An edge host has no disk for a sqlite file', {
      hint: 'Leave SVC_ICL_DATABASE_URL out, to use the storage of the Durable Object, or set it to mongodb://... or memory:.',
    })
  }
  log.info('There is no file on an edge host: everything waits while MongoDB is away')
  // Imported only here, because this module needs the host's node: modules.
  const { openSharedStore } = await import('../store/mongodb/shared.ts')
  return openSharedStore({ url, clock, random, log })
}
