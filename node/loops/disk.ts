import { errorText } from '../../lib/host/explain-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../log.ts'

/** How often the node checks the disk. */
export const diskPeriodMs = 60_000

/** Watches whether the journal can be written: without it the node takes no work. Calls `onChange` when the disk becomes unwritable, or writable again. */
export function createDiskWatch(options: {
  /** Rejects when no file can be written. */
  readonly checkDisk: () => Promise<void>
  readonly log: Log
  readonly onChange: () => void
}) {
  const { checkDisk, log, onChange } = options
  let isWritable = true
  const change = (to: boolean, tell: () => void) => {
    if (isWritable === to) return
    isWritable = to
    tell()
    onChange()
  }
  const fail = (error: unknown) =>
    change(false, () => log.error(`Taking no work: ${errorText(error)}`))
  return {
    isWritable: () => isWritable,
    /** One pass: checks whether files can be written. */
    pass: async (): Promise<void> => {
      try {
        await checkDisk()
      } catch (error) {
        return fail(error)
      }
      change(true, () => log.info('The disk takes files again: taking work'))
    },
    /** Wraps the journal, so that a failed write is noticed at once. */
    watched: (journal: Journal): Journal => ({
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
