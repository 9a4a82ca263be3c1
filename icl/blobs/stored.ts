import { cidOf } from '../../lib/cid.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Keep, Store } from '../store/store.ts'
import type { Blobs } from './blobs.ts'
import { createKnownKeeps } from './known-keeps.ts'
import { createRooms } from './rooms.ts'

/**
 * Keeps blobs in the store: about `maxBytes` of uploads, half for wallets and half for nodes, and four times that for published pools, which
 * many jobs share.
 */
export function createStoredBlobs(store: Store, maxBytes: number, clock: Clock): Blobs {
  const sizes = { wallet: maxBytes / 2, node: maxBytes / 2, icl: 4 * maxBytes }
  const kept = createKnownKeeps(() => clock.now())
  const rooms = createRooms({
    ...{ store, clock, prefix: '' },
    sizes: async () => sizes,
    onDropped: async (cids) => {
      for (const cid of cids) kept.forget(cid)
    },
  })
  const keep = async (cid: string, how: Keep): Promise<boolean> => {
    if (kept.has(cid, how)) return true
    if (!(await store.save({ ...keepOnly(how), kind: 'keep-blob', cid }))) return false
    kept.note(cid, how)
    return true
  }

  const save = async (
    cid: string,
    bytes: Uint8Array<ArrayBuffer>,
    options: Parameters<Blobs['put']>[2],
  ): Promise<boolean> => {
    // A stored blob takes no more room, however often it is uploaded, and gets no younger.
    if (await keep(cid, options)) return true
    const { uploader, signal, usedUntil = clock.now() } = options
    const isSaved = await rooms.fill(options, bytes.length, async () => {
      signal?.throwIfAborted()
      const how = { ...keepOnly(options), usedUntil }
      return await store.save({ ...how, kind: 'blob', cid, bytes, uploader })
    })
    if (isSaved) kept.note(cid, options)
    return isSaved
  }

  // Many may upload the same blob at once, and it must be counted once.
  const saving = new Map<string, Promise<boolean>>()

  return {
    put: async (cid, bytes, options) => {
      for (let other = saving.get(cid); other; other = saving.get(cid)) {
        await other.catch(() => {})
      }
      options.signal?.throwIfAborted()
      const own = save(cid, bytes, options)
      saving.set(cid, own)
      try {
        return await own
      } finally {
        saving.delete(cid)
      }
    },
    keep: async (cids, how) => {
      await Promise.all(cids.map((cid) => keep(cid, how)))
    },
    keeping: async (cids, how) =>
      cids.map((cid) => ({ ...how, kind: 'keep-blob', cid, mayBeAbsent: true }) as const),
    get: (cid) => findIntact(store, cid),
    rooms: rooms.read,
    // The store answers its own ping, and deletes expired blobs itself.
    ping: async () => {},
    prune: async () => 0,
  }
}

/** Returns how long a blob is kept, without what else an upload says. */
export const keepOnly = ({ until, usedUntil, isAnswered }: Keep): Keep => ({
  until,
  usedUntil,
  isAnswered,
})

/** Returns a blob of the store if its bytes still have its CID. */
export async function findIntact(
  store: Pick<Store, 'findBlob'>,
  cid: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = await store.findBlob(cid)
  return bytes !== undefined && (await cidOf(bytes)) === cid ? bytes : undefined
}
