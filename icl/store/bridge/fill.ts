import canonicalize from 'canonicalize'
import { encodeDocument } from '../encoding.ts'
import type { SqliteStore } from '../sqlite/store.ts'
import type { SqliteWrites } from '../sqlite/writes.ts'
import {
  type DocumentRecord,
  recordBy,
  type StoreRecord,
  type VersionedWrite,
  type Write,
} from '../store.ts'
import { lockOf } from './locks.ts'
import type { Pending } from './merge.ts'

const recordsAtOnce = 200

/** The part of a local copy that is filled. */
export type Fill = ReturnType<typeof createFill>

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
    /** Forgets what the last fill left out: others may have changed it. */
    forgetLeft: (): void => left.clear(),
    /** What the last fill left out, and whose saves have no outcome yet. */
    leftOut: (): readonly StoreRecord[] => [...left.values()],
    /**
     * Stores what a fill has left out for a save that was sent, so that the copy judges the save by it. Returns true when the fill found
     * the save done: it may have read the database before or after it.
     */
    putBefore: (all: SqliteWrites, writes: readonly Write[]): boolean => {
      for (const write of writes) {
        const record = left.get(lockOf(write))
        if (record && 'base' in write && isMadeBy(record, write)) return true
        // An event has its id from its save.
        if (record && record.kind !== 'event') all.put(record)
      }
      return false
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

/** Whether a save with this write has made the record. */
function isMadeBy(record: StoreRecord, write: VersionedWrite): boolean {
  const made = recordBy(write)
  if (!('version' in record) || record.version !== made.version) return false
  return textOf(record) === textOf(made)
}

/** The document's text, whatever the order of its parts, which differs from store to store. */
function textOf(record: DocumentRecord): string | undefined {
  const { kind } = record
  const document = kind === 'job' ? record.job : kind === 'node' ? record.node : record.client
  return canonicalize(JSON.parse(encodeDocument(document)))
}
