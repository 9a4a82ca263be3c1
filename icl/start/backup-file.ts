import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, link, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorMessage } from '../../lib/error-message.ts'
import { syncFolderAside } from '../../lib/host/write-whole.ts'
import { SvcError } from '../../lib/svc-error.ts'
import {
  BackupHeader,
  BackupTrailer,
  decodeRecord,
  encodeRecord,
  isOfTheMoment,
} from '../admin/backup-lines.ts'
import type { Store, StoreRecord } from '../store/store.ts'
import { version } from '../version.ts'

const formatVersion = 1
const bytesPerWrite = 1024 * 1024
// The longest line so far is a blob of 1 MiB in base64url. Jobs may grow larger.
const longestLine = 16 * 1024 * 1024
// Enough to share a commit, and few enough for a slow server to answer all in time.
const recordsAtOnce = 32

/** Writes all records of a store to a new file (0600), which appears whole or not at all. Returns the number of records. */
export async function writeBackup(store: Store, file: string, now: Date): Promise<number> {
  await refuseExisting(file)
  const partial = `${file}.${process.pid}.partial`
  const handle = await open(partial, 'wx', 0o600).catch(cannotWrite(file))
  try {
    const lines = createLineWriter(handle)
    const madeAt = now.toISOString()
    const header = { format: 'svc-icl-backup', version: formatVersion, madeAt } as const
    await lines.add(JSON.stringify({ ...header, madeBy: version }))
    let records = 0
    for await (const record of store.scan()) {
      if (isOfTheMoment(record)) continue
      await lines.add(encodeRecord(record))
      records++
    }
    await lines.add(JSON.stringify({ end: true, records, sha256: lines.digest() }))
    await lines.flush()
    await handle.sync()
    // Unlike a rename, a link never replaces an existing file.
    await link(partial, file).catch(cannotWrite(file))
    await syncFolderAside(dirname(file))
    return records
  } finally {
    await handle.close()
    await rm(partial, { force: true })
  }
}

/** Reads a whole backup without using it. Returns the number of its records. Throws SvcError `backup-damaged`, `backup-format-differs` or `backup-missing`. */
export async function verifyBackup(file: string): Promise<number> {
  let records = 0
  for await (const _ of readBackup(file)) records++
  return records
}

/**
 * Restores the records of a backup into a store. Leaves out records that exist there. Throws SvcError `restore-unfinished`
 * when it cannot go on.
 */
export async function restoreBackup(
  store: Store,
  file: string,
): Promise<{ readonly restored: number; readonly leftOut: number }> {
  let restored = 0
  let leftOut = 0
  const put = async (batch: readonly StoreRecord[]) => {
    for (const isNew of await Promise.all(batch.map((record) => store.restore(record)))) {
      if (isNew) restored++
      else leftOut++
    }
  }
  let batch: StoreRecord[] = []
  try {
    for await (const record of readBackup(file)) {
      batch.push(record)
      if (batch.length < recordsAtOnce) continue
      await put(batch)
      batch = []
    }
    await put(batch)
  } catch (error) {
    throw unfinished(file, error)
  }
  return { restored, leftOut }
}

const unfinished = (file: string, cause: unknown): SvcError =>
  new SvcError(
    'restore-unfinished',
    `The database may hold only a part of the backup ${file}: ${errorMessage(cause)}`,
    {
      hint: 'Do not start the ICL. Restore again into an empty database, or with --merge once the cause has gone.',
      cause,
    },
  )

/** Yields the records of a backup. Throws SvcError `backup-format-differs`, or `backup-damaged` for any changed byte, at the end at the latest. */
async function* readBackup(file: string): AsyncGenerator<StoreRecord> {
  const hash = createHash('sha256')
  let number = 0
  let records = 0
  let isWhole = false
  for await (const line of readLines(file)) {
    number++
    const parse = <T>(read: () => T): T => {
      try {
        return read()
      } catch (error) {
        throw damaged(file, `line ${number} cannot be read`, error)
      }
    }
    if (isWhole) throw damaged(file, 'it has data after its end')
    if (line.startsWith('{"end":')) {
      const trailer = parse(() => BackupTrailer.parse(JSON.parse(line)))
      if (trailer.records !== records) throw damaged(file, 'records are missing')
      if (trailer.sha256 !== hash.digest('hex')) throw damaged(file, 'its checksum is another')
      isWhole = true
      continue
    }
    hash.update(`${line}\n`)
    if (number === 1) {
      const header = parse(() => BackupHeader.parse(JSON.parse(line)))
      if (header.version !== formatVersion) throw otherFormat(file, header)
    } else {
      yield parse(() => decodeRecord(line))
      records++
    }
  }
  if (!isWhole) throw damaged(file, 'its end is missing')
}

/** Yields the lines of a file. Only line feeds end lines. */
async function* readLines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: bytesPerWrite })) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > longestLine) throw damaged(file, 'a line is too long')
      yield* lines
    }
    rest += decoder.decode()
  } catch (error) {
    if (error instanceof SvcError) throw error
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw damaged(file, String(error), error)
    throw new SvcError(
      'backup-missing',
      code === 'ENOENT' ? `There is no file ${file}` : `${file} cannot be read: ${error}`,
      { hint: 'Check its name, its owner and its disk.' },
    )
  }
  if (rest !== '') throw damaged(file, 'its last line does not end')
}

const otherFormat = (file: string, { version: found, madeBy }: BackupHeader): SvcError =>
  new SvcError(
    'backup-format-differs',
    `The backup ${file} has format ${found}, and this program reads format ${formatVersion}`,
    { hint: `Restore it with the version that made it, ${madeBy}.` },
  )

const damaged = (file: string, why: string, cause?: unknown): SvcError =>
  new SvcError('backup-damaged', `The backup ${file} is not whole: ${why}`, {
    hint: 'Use another backup. Do not rely on any part of this one.',
    cause,
  })

/** Writes lines in large pieces, and keeps a checksum of all lines. */
function createLineWriter(handle: FileHandle) {
  const hash = createHash('sha256')
  let waiting: string[] = []
  let size = 0
  const flush = async () => {
    await handle.appendFile(waiting.join(''))
    waiting = []
    size = 0
  }
  return {
    add: async (line: string) => {
      if (line.length > longestLine) throw tooLong(line)
      hash.update(`${line}\n`)
      waiting.push(`${line}\n`)
      size += line.length
      if (size >= bytesPerWrite) await flush()
    },
    flush,
    digest: () => hash.copy().digest('hex'),
  }
}

const tooLong = (line: string): SvcError =>
  new SvcError('backup-unwritable', `A record is too long to be restored: ${line.slice(0, 120)}`, {
    hint: 'Copy the database by its own means. If the record is of a settled job, prune it.',
  })

async function refuseExisting(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined)
  if (found) cannotWrite(file)(Object.assign(new Error(), { code: 'EEXIST' }))
}

const cannotWrite =
  (file: string) =>
  (error: unknown): never => {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST'
    throw new SvcError(
      exists ? 'backup-exists' : 'backup-unwritable',
      exists ? `There is a file ${file} already` : `${file} cannot be written: ${error}`,
      { hint: exists ? 'Choose another name: no backup is overwritten.' : 'Choose another place.' },
    )
  }
