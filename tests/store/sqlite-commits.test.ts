// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { createCommits } from '../../icl/store/sqlite/commits.ts'
import { failureCode, type SqliteDatabase, savepointsOf } from '../../icl/store/sqlite/database.ts'
import { codeOf } from '../code-of.ts'

/** A database in memory that tells which statements it was given, and can be made to fail at one. */
function openWatched() {
  const real = new DatabaseSync(':memory:') as unknown as SqliteDatabase
  real.exec('CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL) STRICT')
  const seen: string[] = []
  const failures = new Map<string, number>()
  const db: SqliteDatabase = {
    prepare: (sql) => real.prepare(sql),
    close: () => real.close(),
    exec: (sql) => {
      seen.push(sql)
      const errcode = failures.get(sql)
      if (errcode !== undefined)
        throw Object.assign(new Error('planted'), { code: 'ERR_SQLITE_ERROR', errcode })
      real.exec(sql)
    },
  }
  const place = { isThere: true }
  const commits = createCommits(db, {
    nested: savepointsOf(db),
    defer: setImmediate,
    rest: setImmediate,
    isInPlace: () => place.isThere,
  })
  const insert = real.prepare('INSERT INTO t VALUES (?)')
  return {
    commits,
    seen,
    failures,
    add: (text: string | null) => commits.run(() => insert.run(text).changes),
    rows: () =>
      real
        .prepare('SELECT a FROM t ORDER BY a')
        .all()
        .map(({ a }) => a),
    exec: (sql: string) => real.exec(sql),
  }
}

const commitsIn = (seen: readonly string[]) => seen.filter((sql) => sql === 'COMMIT').length

it('takes what comes together to the disk together', async () => {
  const { add, seen, rows } = openWatched()
  const letters = [...'abcdefgh']
  await Promise.all(letters.map(add))
  expect(commitsIn(seen)).toBe(1)
  await add('i')
  await add('j')
  expect(commitsIn(seen)).toBe(3)
  expect(rows()).toEqual([...letters, 'i', 'j'])
})

it('lets a change that fails fail alone', async () => {
  const { add, rows, commits } = openWatched()
  const [first, none, twice, last] = await Promise.allSettled([
    add('a'),
    add(null),
    add('a'),
    add('b'),
  ])
  expect([first.status, none.status, twice.status, last.status]).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
  ])
  expect(rows()).toEqual(['a', 'b'])
  // A mistake in one change says nothing about the database.
  expect(commits.trouble()).toBeUndefined()
  expect(String(await add(null).catch((error: unknown) => error))).toMatch(/NOT NULL/)
  expect(commits.trouble()).toBeUndefined()
})

it('acknowledges nothing of a commit that fails, and goes on when there is room again', async () => {
  const { add, rows, failures, commits } = openWatched()
  failures.set('COMMIT', 13)
  expect(await Promise.all([codeOf(add('a')), codeOf(add('b'))])).toEqual([
    'unavailable',
    'unavailable',
  ])
  expect(rows()).toEqual([])
  expect(commits.trouble()).toMatch(/full/)
  failures.clear()
  await add('c')
  expect(rows()).toEqual(['c'])
  expect(commits.trouble()).toBeUndefined()
})

it('shows a change at once, and lasts once it is waited for', async () => {
  const { commits, rows, seen, exec } = openWatched()
  const losses = commits.losses()
  commits.apply(() => exec("INSERT INTO t VALUES ('a')"))
  commits.apply(() => exec("INSERT INTO t VALUES ('b')"))
  expect([rows(), commitsIn(seen)]).toEqual([['a', 'b'], 0])
  await Promise.all([commits.flushed(losses), commits.flushed(losses)])
  expect(commitsIn(seen)).toBe(1)
  await commits.flushed(losses)
  expect(commitsIn(seen)).toBe(1)
})

it('commits soon what nobody waits for', async () => {
  const { commits, seen, exec } = openWatched()
  commits.apply(() => exec("INSERT INTO t VALUES ('a')"))
  while (commitsIn(seen) === 0) await new Promise(setImmediate)
})

it('undoes a group that cannot be committed, and tells all who began before', async () => {
  const { commits, rows, failures, exec } = openWatched()
  let heard = 0
  commits.onLost(() => heard++)
  await commits.run(() => exec("INSERT INTO t VALUES ('kept')"))
  const losses = commits.losses()
  failures.set('COMMIT', 13)
  commits.apply(() => exec("INSERT INTO t VALUES ('lost')"))
  expect(await codeOf(commits.flushed(losses))).toBe('unavailable')
  expect([rows(), heard]).toEqual([['kept'], 1])
  failures.clear()
  // Its answer may rest on what was lost, although all that came after it lasts.
  await commits.run(() => exec("INSERT INTO t VALUES ('later')"))
  await expect(commits.flushed(losses)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The disk of the database is full: the operator of the ICL has to make room',
  })
  await commits.flushed(commits.losses())
  expect(rows()).toEqual(['kept', 'later'])
})

it('says that a disk is full when SQLite finds it so', async () => {
  const { add, rows, exec, commits } = openWatched()
  exec('PRAGMA max_page_count = 3')
  expect(await codeOf(add('x'.repeat(50_000)))).toBe('unavailable')
  expect(commits.trouble()).toMatch(/full/)
  await add('small')
  expect(rows()).toEqual(['small'])
})

it('waits for others no longer than once for a whole group', async () => {
  const { add, failures, seen } = openWatched()
  failures.set('BEGIN IMMEDIATE', 5)
  expect(await Promise.all([codeOf(add('a')), codeOf(add('b'))])).toEqual([
    'unavailable',
    'unavailable',
  ])
  expect(seen.filter((sql) => sql === 'BEGIN IMMEDIATE')).toHaveLength(1)
})

it('trusts a disk that failed no more', async () => {
  const { add, failures, commits } = openWatched()
  failures.set('COMMIT', 10)
  expect(await codeOf(add('a'))).toBe('unavailable')
  failures.clear()
  expect(await codeOf(add('b'))).toBe('unavailable')
  expect(commits.trouble()).toMatch(/restart/)
})

it('commits what waits when it closes, and refuses the rest', async () => {
  const { add, commits, rows } = openWatched()
  const waiting = add('a')
  commits.close()
  expect(rows()).toEqual(['a'])
  expect(await waiting).toBe(1)
  expect(await codeOf(add('b'))).toBe('unavailable')
})

it('knows what failed by its code, or by its words where there is none', () => {
  const failure = (message: string, errcode?: number) =>
    failureCode(
      Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', ...(errcode && { errcode }) }),
    )
  expect(failure('disk I/O error', 10 + 256 * 3)).toBe(10)
  expect(failure('disk I/O error')).toBe(10)
  expect(failure('database or disk is full')).toBe(13)
  expect(failure('database is locked')).toBe(5)
  expect(failure('UNIQUE constraint failed: readonly database', 1555)).toBeUndefined()
  expect(failure('UNIQUE constraint failed')).toBeUndefined()
  expect(failureCode(new Error('database is locked'))).toBeUndefined()
})
