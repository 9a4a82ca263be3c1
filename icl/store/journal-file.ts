import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolderAside } from '../../lib/host/write-whole.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { createMutex, type Mutex } from '../async/mutex.ts'
import type { HeldRecord, Journal } from './journal.ts'
import { encodeHeld, encodeWrite } from './journal-lines.ts'
import {
  type Bookmark,
  type JournalState,
  journalLine,
  readHeldRecords,
  readJournalWrites,
  verifyJournal,
} from './journal-reading.ts'

const heldPerLine = 200
const bytesPerFlush = 4 * 1024 * 1024

type Waiting = {
  readonly text: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Opens the journal in a folder, and calls `onClosed` when it is closed; throws SvcError `journal-damaged` unless all that was
 * acknowledged is whole.
 */
export async function openJournalFile(folder: string, onClosed = () => {}): Promise<Journal> {
  const path = join(folder, 'journal')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Begun, but never finished: nothing was acknowledged with it.
  await rm(`${path}.new`, { force: true })
  const mutex = createMutex()
  let handle = await openExisting(path)
  let state = handle ? await verified(handle, path) : noState()
  let bookmark = start
  // Bytes behind the end are of writes that were not acknowledged.
  let isDirty = true
  let isClosed = false

  const file = (): FileHandle => {
    // A number that was closed may be another file's by now.
    if (handle && !isClosed) return handle
    throw new Error(isClosed ? 'The journal is closed' : 'The journal is not begun')
  }
  const add = async (json: string) => {
    try {
      const bytes = Buffer.from(journalLine(json))
      if (isDirty) await file().truncate(state.end)
      isDirty = true
      await writeAll(file(), bytes, state.end)
      await file().datasync()
      state.end += bytes.length
      isDirty = false
    } catch (error) {
      throw cannotWrite(path, error)
    }
  }
  const append = createFlushes(mutex, async (writes) => {
    await add(`{"type":"writes","first":${state.written + 1},"writes":[${writes.join(',')}]}`)
    state.written += writes.length
  })
  return {
    path,
    get begun() {
      return handle !== undefined
    },
    get written() {
      return state.written
    },
    get replayed() {
      return state.replayed
    },
    begin: (held) =>
      mutex(async () => {
        if (handle) throw new Error('The journal is begun already')
        handle = await writeBeginning(folder, path, held)
        state = { ...noState(), end: (await handle.stat()).size }
        isDirty = false
      }),
    append: (id, write) => append(JSON.stringify({ id, write: encodeWrite(write) })),
    readHeld: () => readHeldRecords(file(), path, state.end),
    readWrites: async function* (seq) {
      const from = bookmark.seq <= seq ? bookmark : start
      bookmark = yield* readJournalWrites(file(), path, seq, state.end, from)
    },
    mark: (seq) =>
      mutex(async () => {
        await add(JSON.stringify({ type: 'replayed', through: seq }))
        state.replayed = seq
      }),
    clear: () =>
      mutex(async () => {
        await handle?.close()
        handle = undefined
        await rm(path, { force: true })
        await syncFolderAside(folder)
        state = noState()
        bookmark = start
      }),
    close: () =>
      mutex(async () => {
        if (isClosed) return
        isClosed = true
        await handle?.close()
        onClosed()
      }),
  }
}

async function verified(handle: FileHandle, path: string): Promise<JournalState> {
  try {
    return await verifyJournal(handle, path)
  } catch (error) {
    await handle.close()
    throw error
  }
}

const noState = (): JournalState => ({ end: 0, written: 0, replayed: 0 })
const start: Bookmark = { seq: 0, offset: 0, number: 0 }

const cannotWrite = (path: string, error: unknown): SvcError =>
  new SvcError('journal-full', `The journal ${path} cannot be written: ${error}`, {
    hint: 'Make room on its disk, or look after the disk.',
    retryable: true,
    cause: error,
  })

/** Takes texts to the disk; whatever comes while one flush is under way goes into the next. */
function createFlushes(mutex: Mutex, write: (texts: readonly string[]) => Promise<void>) {
  let waiting: Waiting[] = []
  const flush = async () => {
    const batch = firstBatch(waiting)
    if (batch.length === 0) return
    waiting = waiting.slice(batch.length)
    try {
      await write(batch.map(({ text }) => text))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push({ text, resolve, reject })
      void mutex(flush)
    })
}

const openExisting = async (path: string): Promise<FileHandle | undefined> => {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function firstBatch(waiting: readonly Waiting[]): readonly Waiting[] {
  let bytes = 0
  const end = waiting.findIndex(({ text }, index) => {
    bytes += text.length
    return index > 0 && bytes > bytesPerFlush
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

async function writeBeginning(
  folder: string,
  path: string,
  held: AsyncIterable<HeldRecord>,
): Promise<FileHandle> {
  const handle = await open(`${path}.new`, 'w+', 0o600)
  try {
    let end = 0
    const add = async (content: unknown) => {
      const bytes = Buffer.from(journalLine(JSON.stringify(content)))
      await writeAll(handle, bytes, end)
      end += bytes.length
    }
    let count = 0
    let records: ReturnType<typeof encodeHeld>[] = []
    await add({ type: 'begin', format: 1 })
    for await (const record of held) {
      count++
      records.push(encodeHeld(record))
      if (records.length < heldPerLine) continue
      await add({ type: 'held', held: records })
      records = []
    }
    await add({ type: 'held', held: records })
    await add({ type: 'begun', held: count })
    await handle.sync()
    await rename(`${path}.new`, path)
    await syncFolderAside(folder)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}
