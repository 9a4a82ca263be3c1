import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import { unusable } from '../../icl/store/sqlite/path.ts'

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

it('a new file on a disk that takes none is named, with what to do', () => {
  const failure = (code: string) => Object.assign(new Error(`${code}: planted`), { code })
  expect(unusable('/mnt/icl.db', failure('EROFS'))).toMatchObject({
    code: 'store-unavailable',
    message: 'The file /mnt/icl.db cannot be used: EROFS: planted',
    hint: expect.stringContaining('Mount the file system for writing'),
  })
  expect(unusable('/mnt/icl.db', failure('ENOSPC')).hint).toBe('Make room on the disk.')
})
