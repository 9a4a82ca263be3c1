import type { SqliteStore } from '../sqlite/store.ts'
import { documentIn, type StoreRecord, type Write } from '../store.ts'
import { lockOf } from './locks.ts'
import type { Pending } from './merge.ts'

const recordsAtOnce = 200

/** Makes the part of a local copy that stores what is read from the database while saves go on. */
export function createFill({ transact }: SqliteStore, listSent: () => readonly Pending[]) {
  /** Locks of what was saved since the current fill began: newer than what the fill reads. Undefined between fills. */
  let newer: Set<string> | undefined
  let isFlawed = false
  return {
    /** Notes that the copy gets these from elsewhere. It has to be called before the copy judges or settles a save. */
    noteNewer: (saved: readonly (Write | StoreRecord)[]): void => {
      for (const one of saved) newer?.add(lockOf(one))
    },
    /** Notes a refused save, for which the fill may have left out a document. */
    noteRefused: (writes: readonly Write[]): void => {
      isFlawed ||= documentIn(writes) !== undefined
    },
    /** Stores records of the database, except those that were saved since the first was asked for. False when one may be missing. */
    fill: async (records: AsyncIterable<StoreRecord>): Promise<boolean> => {
      const since = new Set(listSent().flatMap(({ writes }) => writes.map(lockOf)))
      const put = (batch: readonly StoreRecord[]) =>
        transact((all) => {
          for (const record of batch) if (!since.has(lockOf(record))) all.put(record)
        })
      newer = since
      isFlawed = false
      try {
        let batch: StoreRecord[] = []
        for await (const record of records) {
          batch.push(record)
          if (batch.length < recordsAtOnce) continue
          await put(batch)
          batch = []
        }
        await put(batch)
        return !isFlawed
      } finally {
        newer = undefined
      }
    },
  }
}
