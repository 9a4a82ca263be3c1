import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'

/** Opens a MongoDB that several ICLs share. It may be away. Throws SvcError `store-locked` while an ICL has it alone. */
export async function openShared(url: string, log: Log): Promise<Store> {
  // Imported only here, because this module needs the host's node: modules.
  const { createSharedStore } = await import('../store/mongodb/shared.ts')
  const store = createSharedStore({ url, clock, random, log })
  try {
    await store.look()
  } catch (error) {
    if (error instanceof SvcError) {
      await store.close()
      throw error
    }
    log.warn('The database does not respond yet: everything waits')
  }
  return store
}
