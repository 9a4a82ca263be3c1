import type { SqliteStore } from '../sqlite/store.ts'
import type { SqliteWrites } from '../sqlite/writes.ts'
import type { StoreRecord, Write } from '../store.ts'
import { lockOf } from './locks.ts'
import type { Pending } from './merge.ts'

const recordsAtOnce = 200

/** Makes the part of a local copy that stores what is read from the database while saves go on. */
export function createFill({ transact }: SqliteStore, listSent: () => readonly Pending[]) {
  /** Locks of what the copy got since the current fill began: newer than what the fill reads. Undefined between fills. */
  let newer: Set<string> | undefined
  /** What the last fill left out, by lock, because a save of it was sent and not answered. */
  const left = new Map<string, StoreRecord>()
  return {
    /** Notes that the copy gets these from elsewhere. */
    noteNewer: (saved: readonly (Write | StoreRecord)[]): void => {
      for (const lock of saved.map(lockOf)) {
        newer?.add(lock)
        left.delete(lock)
      }
    },
    /** Stores what a fill has left out for a save that is refused. */
    putLeft: (all: SqliteWrites, writes: readonly Write[]): void => {
      for (const record of writes.map((write) => left.get(lockOf(write)))) {
        if (record) all.put(record)
      }
    },
    /** Stores records of the database, except those that were saved since the first was asked for. */
    fill: async (records: AsyncIterable<StoreRecord>): Promise<void> => {
      const since = new Set<string>()
      const put = (batch: readonly StoreRecord[]) =>
        transact((all) => {
          const sent = new Set(listSent().flatMap(({ writes }) => writes.map(lockOf)))
          for (const record of batch) {
            const lock = lockOf(record)
            if (since.has(lock)) continue
            if (sent.has(lock)) left.set(lock, record)
            else all.put(record)
          }
        })
      newer = since
      left.clear()
      try {
        let batch: StoreRecord[] = []
        for await (const record of records) {
          batch.push(record)
          if (batch.length < recordsAtOnce) continue
          await put(batch)
          batch = []
        }
        await put(batch)
      } finally {
        newer = undefined
      }
    },
  }
}
