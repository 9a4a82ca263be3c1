import { toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import { lockOf } from './fallback-locks.ts'
import { onlyInDatabase } from './fallback-reads.ts'
import { askPrimary, type Fallback, isAway, noteAway, whyNotWritable } from './fallback-state.ts'
import type { HeldRecord } from './journal.ts'
import { documentIn, type Write } from './store.ts'

const retryAfterSeconds = 5

/**
 * Saves in the database, or in the journal while that is away. Saves of one document come one after the other: when the
 * connection breaks, at most one has an unknown outcome, and that one goes to the journal with its id.
 */
export function saveWith(
  fallback: Fallback,
  write: Write,
  id = toBase64Url(fallback.options.random.bytes(12)),
): Promise<boolean> {
  return fallback.mutex(lockOf(write), () =>
    saveWhere(fallback, write, id).finally(() => fallback.sent.delete(id)),
  )
}

/** The same for several writes; while the database is away they go to the journal one by one, the document with a version last. */
export async function saveAllWith(
  fallback: Fallback,
  writes: readonly Write[],
  id = toBase64Url(fallback.options.random.bytes(12)),
): Promise<Write | undefined> {
  const [first, ...others] = writes
  if (!first) return undefined
  if (others.length === 0) return (await saveWith(fallback, first, id)) ? undefined : first
  const locks = [...new Set(writes.map(lockOf))].toSorted((a, b) => (a < b ? -1 : 1))
  const locked = locks.reduceRight<() => Promise<Write | undefined>>(
    (work, lock) => () => fallback.mutex(lock, work),
    () => saveAllWhere(fallback, writes, id),
  )
  return locked()
}

async function saveAllWhere(
  fallback: Fallback,
  writes: readonly Write[],
  id: string,
): Promise<Write | undefined> {
  const document = documentIn(writes)
  const inOrder = [
    ...writes.filter((write) => write !== document && write.kind !== 'release-key'),
    ...(document ? [document] : []),
    ...writes.filter((write) => write.kind === 'release-key'),
  ]
  if (fallback.mode === 'connected') {
    const { era } = fallback
    try {
      const refused = await askPrimary(fallback, (store) => store.saveAll(writes, id))
      if (!refused) for (const write of writes) await note(fallback, write, id)
      return refused
    } catch (error) {
      if (!isAway(error)) throw error
      noteAway(fallback, era, error)
    }
  }
  if (document && (await wouldAccept(fallback, document, id)) === 'taken') return undefined
  for (const write of inOrder) {
    if ((await wouldAccept(fallback, write, id)) === 'refuse') return write
  }
  for (const write of inOrder) if (!(await saveWhere(fallback, write, id))) return write
  return undefined
}

async function saveWhere(fallback: Fallback, write: Write, id: string): Promise<boolean> {
  let hasWaited = false
  for (;;) {
    if (fallback.mode === 'connected') {
      const saved = await saveInPrimary(fallback, write, id)
      if (saved === false) return false
      // When the database was given up meanwhile, who goes on from the journal has to find this one in it.
      if (saved && (isConnected(fallback) || !fallback.isPermitted)) {
        await note(fallback, write, id)
        return true
      }
      if (isConnected(fallback)) continue
    }
    if (fallback.gate) await fallback.gate
    else if (fallback.pace && !hasWaited) {
      hasWaited = true
      await fallback.pace.take()
    } else return saveHere(fallback, write, id)
  }
}

// A function, because what was compared before an await is no longer so after it.
const isConnected = ({ mode }: Fallback): boolean => mode === 'connected'

/** What the database says to a save; undefined when the connection broke. */
async function saveInPrimary(
  fallback: Fallback,
  write: Write,
  id: string,
): Promise<boolean | undefined> {
  const { era, sent } = fallback
  sent.set(id, write)
  try {
    return await askPrimary(fallback, (store) => store.save(write, id))
  } catch (error) {
    if (!isAway(error)) throw error
    noteAway(fallback, era, error)
    return undefined
  }
}

async function saveHere(fallback: Fallback, write: Write, id: string): Promise<boolean> {
  if (fallback.mode === 'stuck' || !fallback.isPermitted) {
    throw new ProblemError('unavailable', `Nothing can be saved: ${whyNotWritable(fallback)}`, {
      retryAfterSeconds,
    })
  }
  const saving = isOfNow(write)
    ? saveForNow(fallback, write, id)
    : saveInJournal(fallback, write, id)
  fallback.locals.add(saving)
  try {
    return await saving
  } finally {
    fallback.locals.delete(saving)
  }
}

type KeyWrite = Extract<Write, { kind: 'key' | 'release-key' }>

/** True for who runs and who works now: nothing that lasts, or that others could miss while there are none. */
const isOfNow = (write: Write): write is KeyWrite =>
  (write.kind === 'key' || write.kind === 'release-key') && /^(leader|replica):/.test(write.key)

async function saveForNow({ mirror }: Fallback, write: KeyWrite, id: string): Promise<boolean> {
  const isTaken = (await mirror.wouldAccept(write, id)) === 'take'
  if (isTaken) await mirror.note(write, id)
  return isTaken
}

async function saveInJournal(fallback: Fallback, write: Write, id: string): Promise<boolean> {
  const earlier = fallback.unknown.get(lockOf(write))
  // The database may have taken it, and nobody was told that it has not: so it is decided that it has.
  if (earlier && earlier.id !== id) await addToJournal(fallback, earlier.write, earlier.id)
  return addToJournal(fallback, write, id)
}

async function addToJournal(fallback: Fallback, write: Write, id: string): Promise<boolean> {
  const { journal, log } = fallback.options
  const verdict = await wouldAccept(fallback, write, id)
  if (verdict === undefined) throw onlyInDatabase('What is to be changed')
  if (verdict === 'taken') return true
  if (verdict === 'refuse' && write.kind !== 'keep-blob') return false
  try {
    await begin(fallback)
    await journal.append(id, write)
  } catch (error) {
    if (fallback.sent.has(id)) fallback.unknown.set(lockOf(write), { id, write })
    fallback.isFresh = false
    // Each save tries again, until there is room.
    if (fallback.trouble === undefined) {
      log.warn('The journal cannot be written', { path: journal.path, error: String(error) })
    }
    fallback.trouble = 'the journal cannot be written'
    throw new ProblemError('unavailable', `Nothing can be saved: ${fallback.trouble}`, {
      retryAfterSeconds,
    })
  }
  if (fallback.trouble !== undefined) log.info('The journal is written again')
  fallback.trouble = undefined
  fallback.unknown.delete(lockOf(write))
  await applyHere(fallback, write, id)
  return verdict === 'take'
}

/** Begins the journal with all that is known, once for all who need it. */
async function begin(fallback: Fallback): Promise<void> {
  const { journal, log } = fallback.options
  if (journal.begun) return
  fallback.beginning ??= journal.begin(heldBy(fallback)).finally(() => {
    fallback.beginning = undefined
  })
  await fallback.beginning
  log.warn('Working from memory: saves go to the journal', { journal: journal.path })
}

async function* heldBy({ mirror, sent, unknown }: Fallback): AsyncGenerator<HeldRecord> {
  yield* mirror.held()
  for (const { id, write } of unknown.values()) yield { kind: 'attempt', id, write }
  for (const [id, write] of sent) if (!isOfNow(write)) yield { kind: 'attempt', id, write }
}

/** Whether a write would be taken if the database answered; undefined when only that knows. */
export async function wouldAccept(
  { mirror, blobs, events }: Fallback,
  write: Write,
  id: string,
): Promise<'take' | 'taken' | 'refuse' | undefined> {
  switch (write.kind) {
    case 'event':
      return events.has(write.event.id) ? 'refuse' : 'take'
    case 'blob':
      return 'take'
    case 'keep-blob':
      // One that is in the database only is kept there at the replay, but it is not promised.
      return blobs.find(write.cid) ? 'take' : 'refuse'
    default:
      return mirror.wouldAccept(write, id)
  }
}

/** Makes a save that is in the journal visible here. */
export async function applyHere(fallback: Fallback, write: Write, id: string): Promise<void> {
  if (write.kind === 'blob') fallback.blobs.pin(write)
  else await note(fallback, write, id)
}

/** Takes over what the database has saved. */
async function note(fallback: Fallback, write: Write, id: string): Promise<void> {
  const { mirror, next, blobs, events } = fallback
  switch (write.kind) {
    case 'event':
      return events.note(write.event)
    case 'blob':
      return blobs.note(write.cid, write.bytes)
    case 'keep-blob':
      return
    default:
      await mirror.note(write, id)
      await next?.note(write, id)
  }
}
