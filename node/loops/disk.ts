import { errorText } from '../../lib/host/explain-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../log.ts'
import { messages } from '../log-messages.ts'

/** How often the disk is looked at. */
export const diskPeriodMs = 60_000

/** Whether the journal can be written, without which no work may be taken. */
export type DiskWatch = {
  readonly isWritable: () => boolean
  /** One pass: looks whether the disk takes files. */
  readonly pass: () => Promise<void>
  /** The same journal, whose failures are noticed at once. */
  readonly watched: (journal: Journal) => Journal
}

/** Makes the watch; `onChange` hears that work stops, or goes on. */
export function createDiskWatch(options: {
  /** Rejects when the disk takes no files. */
  readonly checkDisk: () => Promise<void>
  readonly log: Log
  readonly onChange: () => void
}): DiskWatch {
  const { checkDisk, log, onChange } = options
  let isWritable = true
  const change = (to: boolean, tell: () => void) => {
    if (isWritable === to) return
    isWritable = to
    tell()
    onChange()
  }
  const fail = (error: unknown) =>
    change(false, () => log.error(messages.diskUnwritable(errorText(error))))
  return {
    isWritable: () => isWritable,
    pass: async () => {
      try {
        await checkDisk()
      } catch (error) {
        return fail(error)
      }
      change(true, () => log.info(messages.diskWritable()))
    },
    watched: (journal) => ({
      ...journal,
      note: (step) => {
        try {
          journal.note(step)
        } catch (error) {
          fail(error)
          throw error
        }
      },
    }),
  }
}
