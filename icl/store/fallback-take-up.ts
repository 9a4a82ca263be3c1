import { SvcError } from '../../lib/svc-error.ts'
import { lockOf } from './fallback-locks.ts'
import { applyHere, wouldAccept } from './fallback-save.ts'
import type { Fallback } from './fallback-state.ts'
import type { HeldRecord } from './journal.ts'

/** Goes on from what the journal of an earlier process holds. */
export async function takeUpJournal(fallback: Fallback): Promise<void> {
  const { journal } = fallback.options
  const attempts: Extract<HeldRecord, { kind: 'attempt' }>[] = []
  for await (const record of journal.readHeld()) {
    if (record.kind === 'attempt') attempts.push(record)
    else await fallback.mirror.put(record)
  }
  const decided = new Set<string>()
  for await (const { id, seq, write } of journal.readWrites(0)) {
    decided.add(lockOf(write))
    const isVersioned = 'base' in write
    if (isVersioned && (await wouldAccept(fallback, write, id)) !== 'take')
      throw contradiction(fallback, seq)
    await applyHere(fallback, write, id)
  }
  for (const { id, write } of attempts) {
    // The database may have taken it, and nobody was told what became of it: so it is decided that it was taken.
    if (decided.has(lockOf(write)) || (await wouldAccept(fallback, write, id)) !== 'take') continue
    await journal.append(id, write)
    await applyHere(fallback, write, id)
  }
  fallback.isLoaded = true
  fallback.isFresh = true
  fallback.isPermitted = true
}

const contradiction = ({ options }: Fallback, seq: number): SvcError =>
  new SvcError(
    'journal-damaged',
    `The journal ${options.journal.path} contradicts itself at write ${seq}`,
    { hint: 'Keep a copy. docs/operations.md, "When the database is away", says what to do.' },
  )
