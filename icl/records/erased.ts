import { dayMs } from '../../lib/time.ts'
import type { Store } from '../store/store.ts'
import { keyOf, prefixOf } from './keys.ts'

const prefix = prefixOf('erased')
/** As long as blobs are kept at most, unless the network says otherwise. */
const notedMs = 30 * dayMs

/** Notes that a blob is erased, for local copies of the database: they keep blobs that no list of the database names. */
export async function noteErased(
  store: Pick<Store, 'save'>,
  cid: string,
  now: number,
): Promise<void> {
  const key = keyOf('erased', cid)
  await store.save({ kind: 'key', key, value: '', now, expiresAt: now + notedMs })
}

/** The blobs that were erased. */
export async function listErased(
  store: Pick<Store, 'listKeys'>,
  now: number,
): Promise<readonly string[]> {
  const held = await store.listKeys(prefix, now)
  return held.map(({ key }) => key.slice(prefix.length))
}
