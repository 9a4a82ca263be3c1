import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from './journal.ts'

/** What there is without a folder for a journal: saves are refused while the database is away. */
export function createNoJournal(): Journal {
  const refuse = async () => {
    throw new SvcError('journal-full', 'There is no folder for a journal', {
      hint: 'Set SVC_ICL_JOURNAL_DIR to a folder that outlives the process.',
    })
  }
  return {
    path: 'nowhere',
    begun: false,
    written: 0,
    replayed: 0,
    begin: refuse,
    append: refuse,
    mark: refuse,
    readHeld: async function* () {},
    readWrites: async function* () {},
    clear: async () => {},
    close: async () => {},
  }
}
