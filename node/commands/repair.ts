import { configPathOf } from '../config-file.ts'
import { historyPathOf, readHistory } from '../journal/history.ts'
import { locked, lockPathOf } from '../journal/lock.ts'
import { journalPathOf } from '../journal/read-journal.ts'
import { repairJournal } from '../journal/repair-journal.ts'
import type { CommandContext } from './context.ts'
import type { Given } from './options.ts'

/** Repairs a damaged job journal. Throws SvcError `already-running`, `lock-unusable`, `history-unusable` or `journal-unwritable`. */
export async function repair(
  flags: Given<'repair'>,
  { environment, print, warn }: CommandContext,
): Promise<undefined> {
  const configPath = configPathOf(environment)
  await locked(lockPathOf(configPath), async () => {
    const historyPath = historyPathOf(configPath)
    const history = await readHistory(historyPath, undefined, (lines) =>
      warn(`warning: ${lines} line(s) of ${historyPath} cannot be read either`),
    )
    const repaired = repairJournal(journalPathOf(configPath), history)
    if (flags.json) {
      const { damagedLines = 0, copy = null, guarded = 0 } = repaired ?? {}
      print(JSON.stringify({ damaged_lines: damagedLines, copy, guarded_assignments: guarded }))
    } else if (repaired === undefined) print('The job journal is whole. Nothing was changed.')
    else {
      const { damagedLines, copy, guarded } = repaired
      print(
        `${damagedLines} line(s) of the job journal could not be read. The damaged file is kept as ${copy}.`,
      )
      print(
        `The node signs no new answer to the ${guarded} assignments that the journal and the history name.`,
      )
      warn(
        'warning: for assignments that neither names any more, the guard against signing twice is lost',
      )
    }
  })
}
