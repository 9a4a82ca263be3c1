import type { HeldRecord, Journal, JournalWrite } from '../../icl/store/journal.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** A journal whose disk is an object, so that a test can end its process and start another on the same disk. */
export type Disk = {
  file: { held: HeldRecord[]; writes: JournalWrite[]; replayed: number } | undefined
  /** Refuses everything. */
  isFull: boolean
}

export const emptyDisk = (): Disk => ({ file: undefined, isFull: false })

/** A journal of one process on a disk; nothing of that process reaches the disk once it is no longer `alive`. */
export function createMemoryJournal(disk: Disk, process = { alive: true }): Journal {
  const write = async () => {
    await Promise.resolve()
    if (disk.isFull || !process.alive)
      throw new SvcError('journal-full', 'no space left', { hint: 'make room' })
  }
  const file = () => {
    if (disk.file) return disk.file
    throw new Error('The journal is not begun')
  }
  return {
    path: 'disk',
    get begun() {
      return disk.file !== undefined
    },
    get written() {
      return disk.file?.writes.length ?? 0
    },
    get replayed() {
      return disk.file?.replayed ?? 0
    },
    begin: async (held) => {
      const records: HeldRecord[] = []
      for await (const record of held) records.push(record)
      await write()
      disk.file = { held: records, writes: [], replayed: 0 }
    },
    append: async (id, saved) => {
      await write()
      file().writes.push({ seq: file().writes.length + 1, id, write: saved })
    },
    readHeld: async function* () {
      yield* file().held
    },
    readWrites: async function* (seq) {
      yield* file().writes.slice(seq)
    },
    mark: async (seq) => {
      await write()
      file().replayed = seq
    },
    clear: async () => {
      await write()
      disk.file = undefined
    },
    close: async () => {},
  }
}
