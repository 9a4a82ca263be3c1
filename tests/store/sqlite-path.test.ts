import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import { findPath, unusable } from '../../icl/store/sqlite/path.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-place-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = () => join(folder, `${files++}.db`)
const refusalOf = async (file: string) => openSqliteStore(file).catch((error: unknown) => error)

/** Runs as a user who owns nothing here: root may read and write everything. */
async function asStranger<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

it('a folder in place of the database is named, with what to do', async () => {
  const file = newFile()
  mkdirSync(file)
  expect(await refusalOf(file)).toMatchObject({
    code: 'store-unavailable',
    message: `The database ${file} is a folder`,
    hint: expect.stringContaining('SVC_ICL_DATABASE_URL'),
  })
})

it('a file of another user is named with its owner', async () => {
  const file = newFile()
  await (await openSqliteStore(file)).close()
  chmodSync(folder, 0o777)
  chmodSync(`${file}.lock`, 0o666)
  chmodSync(file, 0)
  const refusal = await asStranger(() => refusalOf(file))
  expect(refusal).toMatchObject({
    code: 'store-unavailable',
    message: expect.stringContaining(`The file ${file} cannot be used: `),
    hint: expect.stringMatching(/^It belongs to uid \d+\. Give .* or run the ICL as their owner/),
  })
})

it('a file in a folder that is closed to this user counts as there', async () => {
  const closed = mkdtempSync(join(folder, 'closed-'))
  const file = join(closed, 'icl.db')
  await (await openSqliteStore(file)).close()
  chmodSync(folder, 0o777)
  chmodSync(closed, 0)
  expect(await asStranger(() => refusalOf(file))).toMatchObject({
    code: 'store-unavailable',
    hint: expect.stringMatching(/^Allow .* to write to its folder/),
  })
  chmodSync(closed, 0o700)
})

it('a new file on a disk that takes none is named, with what to do', () => {
  const failure = (code: string) => Object.assign(new Error(`${code}: planted`), { code })
  expect(unusable('/mnt/icl.db', failure('EROFS'))).toMatchObject({
    code: 'store-unavailable',
    message: 'The file /mnt/icl.db cannot be used: EROFS: planted',
    hint: expect.stringContaining('Mount the file system for writing'),
  })
  expect(unusable('/mnt/icl.db', failure('ENOSPC')).hint).toBe('Make room on the disk.')
})

it('a file with a second name is refused under both, and taken again without it', async () => {
  const [file, other] = [newFile(), newFile()]
  await (await openSqliteStore(file)).close()
  linkSync(file, other)
  for (const name of [file, other]) {
    expect(await refusalOf(name)).toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining(`${name} has another name (a hard link)`),
      hint: expect.stringContaining('Remove the other name'),
    })
  }
  rmSync(other)
  await (await openSqliteStore(file)).close()
})

it('a file that is mounted by itself is refused, and a mounted folder is not', async () => {
  const spaced = mkdtempSync(join(folder, 'a b\\'))
  const file = join(spaced, 'icl.db')
  const mounted = (path: string) => () =>
    `1 2 8:1 / / rw - ext4 /dev/sda rw\n36 35 8:1 /icl.db ${path.replace(/\\/g, '\\134').replace(/ /g, '\\040')} rw,noatime - ext4 /dev/sda rw\n`
  expect(findPath(file, false, mounted(spaced))).toBe(file)
  expect(() => findPath(file, false, mounted(file))).toThrow(`${file} is mounted as a file`)
  // Deno does not let a process read this.
  const denied = () => {
    throw new Error('denied')
  }
  expect(findPath(file, false, denied)).toBe(file)
})

it('a file that lost its log with all its tables is refused, and stays as it is', async () => {
  const file = newFile()
  const store = await openSqliteStore(file)
  // What is left of a file that was mounted without its folder: the tables are in the log until 16 MiB are written.
  const left = newFile()
  copyFileSync(file, left)
  await store.close()
  const before = readFileSync(left)
  expect(before.length).toBeGreaterThan(0)
  for (const guest of [false, true]) {
    expect(await openSqliteStore(left, { guest }).catch((error: unknown) => error)).toMatchObject({
      code: 'store-incomplete',
      message: expect.stringContaining(`${left}-wal, which is gone`),
      hint: expect.stringContaining('mount their folder'),
    })
  }
  expect(readFileSync(left)).toEqual(before)
})
