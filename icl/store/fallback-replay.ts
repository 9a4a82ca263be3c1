import { SvcError } from '../../lib/svc-error.ts'
import { lockOf } from './fallback-locks.ts'
import type { Journal, JournalWrite } from './journal.ts'
import type { Store, Write } from './store.ts'

const atOnce = 16
const longestRound = 256

type Target = Pick<Store, 'save' | 'findKey'>

/** How a journal is replayed. */
export type ReplayOptions = {
  readonly now: () => number
  /** Called for each write that was replayed. */
  readonly onWrite: () => void
  /** Stops when no more than these are left. */
  readonly downTo: number
}

/**
 * Saves the writes of a journal that are not marked, in order for each document. Between two marks no document is saved
 * twice, so that a replay that was cut off can be repeated: a save that was done already is told by its id. Of a key that was
 * renewed again and again, only the last save is done. Throws SvcError `journal-refused` when somebody else has saved meanwhile.
 */
export async function replayJournal(
  journal: Journal,
  store: Target,
  { now, onWrite, downTo }: ReplayOptions,
): Promise<void> {
  while (journal.written - journal.replayed > downTo) {
    // In the order of the journal.
    const round = new Map<string, JournalWrite>()
    const finishRound = async () => {
      const last = [...round.values()].at(-1)
      if (!last) return
      await saveAll([...round.values()], async (entry) => {
        await replayWrite(entry, store, now())
        onWrite()
      })
      await journal.mark(last.seq)
      round.clear()
    }
    for await (const entry of journal.readWrites(journal.replayed)) {
      const name = lockOf(entry.write)
      const before = round.get(name)
      if (before && isRenewal(before.write, entry.write)) {
        round.delete(name)
        onWrite()
      } else if (before || round.size >= longestRound) await finishRound()
      round.set(name, entry)
    }
    await finishRound()
  }
}

/** Whether a save leaves nothing of the one before it to be seen. */
const isRenewal = (before: Write, write: Write): boolean =>
  before.kind === 'key' && write.kind === 'key' && before.value === write.value

async function saveAll(
  round: readonly JournalWrite[],
  save: (entry: JournalWrite) => Promise<void>,
): Promise<void> {
  const left = round.values()
  const worker = async () => {
    for (const entry of left) await save(entry)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, round.length) }, worker))
}

async function replayWrite({ id, write }: JournalWrite, store: Target, now: number): Promise<void> {
  if (await store.save(write, id)) return
  if (await isHarmless(write, store, now)) return
  throw new SvcError(
    'journal-refused',
    `${nameOf(write)} was changed by another process meanwhile`,
    {
      hint: 'docs/operations.md, "When the database is away", says what to do.',
    },
  )
}

/** True when a refusal changes nothing that was promised to anybody. */
async function isHarmless(write: Write, store: Target, now: number): Promise<boolean> {
  switch (write.kind) {
    case 'job':
    case 'node':
    case 'client':
      return false
    case 'key':
      return write.expiresAt <= now || (await store.findKey(write.key, now)) === write.value
    // An event with this id is this event; who has nothing to release has released it; a blob that is gone has expired.
    case 'event':
    case 'release-key':
    case 'keep-blob':
    case 'blob':
      return true
  }
}

/** A write's document, as an operator finds it in the database. */
function nameOf(write: Write): string {
  switch (write.kind) {
    case 'job':
      return `Job ${write.job.id} (saved at version ${write.base})`
    case 'node':
      return `Node ${write.node.address} (saved at version ${write.base})`
    case 'client':
      return `Client ${write.client.address} (saved at version ${write.base})`
    case 'event':
      return `Event ${write.event.id}`
    case 'key':
    case 'release-key':
      return `Key ${write.key}`
    case 'blob':
    case 'keep-blob':
      return `Blob ${write.cid}`
  }
}
