import type { SqliteWrites } from '../sqlite/writes.ts'
import { documentIn, type Write } from '../store.ts'
import type { Fill } from './fill.ts'
import type { openPending } from './pending.ts'

/** Makes what judges saves in a local copy, in the place of the database. */
export function createJudging(
  { note, drop }: Pick<ReturnType<typeof openPending>, 'note' | 'drop'>,
  { noteNewer, putBefore, putLeft }: Pick<Fill, 'noteNewer' | 'putBefore' | 'putLeft'>,
) {
  /** Judges a save as the database would, and notes it for the replay unless it was done before. Returns the refused write. */
  const judge = (all: SqliteWrites, writes: readonly Write[], id: string): Write | undefined => {
    const document = documentIn(writes)
    const isDone = document !== undefined && all.isDone(document, id)
    const refused = isDone ? undefined : all.saveAll(writes, id)
    if (refused) drop(id)
    else if (!isDone) note(id, writes, 0)
    if (refused) putLeft(all, writes)
    else noteNewer(writes)
    // The database may have the blob, and then keeps it longer. The caller gets the refusal all the same.
    if (refused?.kind === 'keep-blob') note(`${id}:${refused.cid}`, [refused], 0)
    return refused
  }
  /**
   * Judges a save that was sent, and may have been done. The rest of a document's save refuses nothing that the database may have done:
   * keys that it released are gone from a fill, and the copy lacks blobs of others. The replay repeats it under its id in any case, as a
   * database that loses its primary may lose what a fill has read.
   */
  const judgeSent = (all: SqliteWrites, writes: readonly Write[], id: string) => {
    if (putBefore(all, writes)) {
      for (const write of writes) all.take(write, id)
      noteNewer(writes)
      note(id, writes, 0)
      return undefined
    }
    if (!documentIn(writes)) return judge(all, writes, id)
    for (const write of writes) {
      if (write.kind === 'release-key') all.restore({ ...write, kind: 'key', expiresAt: 0 })
    }
    const mayBeAbsent = true
    const lenient = writes.map<Write>((write) =>
      write.kind === 'keep-blob' ? { ...write, mayBeAbsent } : write,
    )
    const refused = judge(all, lenient, id)
    return refused && writes[lenient.indexOf(refused)]
  }
  return { judge, judgeSent }
}
