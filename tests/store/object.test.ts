// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { type SqliteDatabase, savepointsOf } from '../../icl/store/sqlite/database.ts'
import { openObjectStore } from '../../icl/store/sqlite/object.ts'
import { codeOf } from '../code-of.ts'
import { jobOf } from './suite.ts'

// The suite runs in a real Durable Object (tests/runtimes). Here its host does what workerd cannot be made to do.
function openHeld(tables = '') {
  const db = new DatabaseSync(':memory:')
  db.exec(tables)
  const host: { failure?: string | undefined; aborts: number; sync: () => Promise<void> } = {
    aborts: 0,
    sync: async () => {},
  }
  const store = openObjectStore({
    abort: () => void host.aborts++,
    storage: {
      sql: {
        exec: (sql, ...values) => {
          if (host.failure !== undefined) throw new Error(host.failure)
          const isScript = sql.includes(';')
          if (isScript) db.exec(sql)
          const rows = isScript ? [] : db.prepare(sql).all(...values)
          return { toArray: () => rows }
        },
      },
      transactionSync: savepointsOf(db as unknown as SqliteDatabase),
      sync: () => host.sync(),
    },
  })
  const insert = (digit: string) => store.save({ kind: 'job', job: jobOf(digit), base: 0 })
  return { host, store, insert }
}

it('a barrier waits until the host of a Durable Object has synced what was saved', async () => {
  const { host, store } = openHeld()
  const { promise, resolve } = Promise.withResolvers<void>()
  host.sync = () => promise
  const ahead = store.ahead()
  const answers = ahead.commits.barrier()
  await ahead.save({ kind: 'job', job: jobOf('1'), base: 0 })
  await new Promise(setImmediate)
  let isSynced = false
  const waiting = answers().then(() => {
    isSynced = true
  })
  await new Promise(setImmediate)
  expect(isSynced).toBe(false)
  resolve()
  await waiting
})

it('a full Durable Object takes no save until it has room', async () => {
  const { host, store, insert } = openHeld()
  for (const end of ['', ' (extended: SQLITE_FULL)']) {
    host.failure = `database or disk is full: SQLITE_FULL${end}`
    expect(await codeOf(insert('1'))).toBe('unavailable')
    expect(store.status().reasons.join()).toContain('is full')
  }
  host.failure = undefined
  expect(await insert('1')).toBe(true)
  expect([store.status().reasons, host.aborts]).toEqual([[], 0])
})

it('a Durable Object takes no part of a job that is above the size of a row', async () => {
  const { store, insert } = openHeld()
  const job = jobOf('1', { promptCid: 'c'.repeat(2_000_000) })
  expect(await codeOf(store.save({ kind: 'job', job, base: 0 }))).toContain('above the 1990000')
  expect(await insert('1')).toBe(true)
})

it('a Durable Object starts again after an error of its disk', async () => {
  const { host, insert } = openHeld()
  host.failure = 'disk I/O error: SQLITE_IOERR (extended: SQLITE_IOERR_WRITE)'
  expect(await codeOf(insert('1'))).toBe('unavailable')
  expect(host.aborts).toBe(1)
})

it('a Durable Object with tables of its host and of wrangler dev alone is new', async () => {
  const names = ['_cf_METADATA', '__miniflare_do_name']
  const { insert } = openHeld(names.map((name) => `CREATE TABLE ${name} (id INTEGER);`).join(''))
  expect(await insert('1')).toBe(true)
  expect(() => openHeld('CREATE TABLE miniflare (id INTEGER);')).toThrow('of another program')
})
