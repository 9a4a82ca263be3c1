import { dayMs } from '../../lib/time.ts'
import type { Store } from '../store/store.ts'
import { keyOf, prefixOf } from './keys.ts'

const prefix = prefixOf('erased')
/** The default retention of blobs. */
const notedMs = 30 * dayMs

/** Records that a blob was erased, so that local copies of the database delete it, too: a fill does not remove their blobs. */
export async function noteErased(
  store: Pick<Store, 'save'>,
  cid: string,
  now: number,
): Promise<void> {
  const key = keyOf('erased', cid)
  await store.save({ kind: 'key', key, value: '', now, expiresAt: now + notedMs })
}

/** Lists the CIDs of blobs that were erased within the last 30 days. */
export async function listErased(
  store: Pick<Store, 'listKeys'>,
  now: number,
): Promise<readonly string[]> {
  const held = await store.listKeys(prefix, now)
  return held.map(({ key }) => key.slice(prefix.length))
}
