import type { Store } from '../store/store.ts'
import type { Blobs } from './blobs.ts'
import { isKuboRow, kuboRowOf } from './kubo.ts'
import { uploaders } from './rooms.ts'

/** Returns whether the store has rows of blobs that are in Kubo. */
export async function hasBlobsInKubo(store: Pick<Store, 'countBlobBytes'>): Promise<boolean> {
  const counted = uploaders.map((uploader) => store.countBlobBytes(`kubo-${uploader}`))
  return (await Promise.all(counted)).some((bytes) => bytes > 0)
}

/** Puts blobs into the store. Reads, keeps and prunes also those that an earlier run put into Kubo: these wait while Kubo is away. */
export function withEarlierKubo(stored: Blobs, kubo: Blobs, store: Pick<Store, 'findBlob'>): Blobs {
  return {
    ...stored,
    keep: async (cids, how) => {
      await Promise.all([stored.keep(cids, how), kubo.keep(cids, how)])
    },
    keeping: async (cids, how) => {
      const earlier = (await kubo.keeping(cids, how)).filter(({ cid }) => isKuboRow(cid))
      return [...(await stored.keeping(cids, how)), ...earlier]
    },
    get: async (cid, signal) => {
      const bytes = await stored.get(cid, signal)
      if (bytes !== undefined) return bytes
      const isInKubo = (await store.findBlob(kuboRowOf(cid))) !== undefined
      return isInKubo ? await kubo.get(cid, signal) : undefined
    },
    prune: kubo.prune,
  }
}
