import type { Blobs } from '../../../icl/blobs/blobs.ts'
import type { Store } from '../../../icl/store/store.ts'

/** Keeps a blob longer that is there, as a job does that needs it. */
export async function keep(
  { blobs, store }: { readonly blobs: Blobs; readonly store: Store },
  cid: string,
  until: number,
): Promise<void> {
  const writes = await blobs.keeping([cid], until)
  if ((await store.saveAll(writes)) === undefined) blobs.noteKept(writes)
}
