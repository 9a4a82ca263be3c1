import type { Clock } from '../../lib/clock.ts'
import { systemFetch } from '../../lib/system-fetch.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { createKuboBlobs } from '../blobs/kubo.ts'
import { createStoredBlobs } from '../blobs/stored.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Settings } from './settings.ts'

const roomBytes = 256 * 1024 * 1024

/** Opens the blob store that the settings name: in the store, or in Kubo with its records in the store. */
export function openBlobs(
  settings: Settings,
  { store, clock, log }: { readonly store: Store; readonly clock: Clock; readonly log: Log },
): Blobs {
  const { SVC_ICL_BLOBS: location, SVC_ICL_KUBO_AUTHORIZATION: authorization } = settings
  if (location === undefined) return createStoredBlobs(store, roomBytes, clock)
  return createKuboBlobs({
    ...location,
    authorization,
    pinName: `svc-icl ${new URL(settings.SVC_ICL_PUBLIC_URL).origin}`,
    fetch: systemFetch,
    store,
    clock,
    log,
  })
}
