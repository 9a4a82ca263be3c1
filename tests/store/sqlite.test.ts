import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import * as sqlite from 'node:sqlite'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createOutages } from '../../icl/records/outages.ts'
import { createDocuments } from '../../icl/store/sqlite/documents.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import { queries } from '../../icl/store/sqlite/reads.ts'
import type { Store } from '../../icl/store/store.ts'
import { codeOf } from '../code-of.ts'
import { claimed, nodeA } from '../icl/rules/sample-job.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { describeStore, jobOf, nodeOf } from './suite.ts'
import { checkUnreadable } from './unreadable.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = () => join(folder, `${files++}.db`)
const insert = (store: Store, digit: string) =>
  store.save({ kind: 'job', job: jobOf(digit), base: 0 })

describeStore('sqlite', () => openSqliteStore(newFile()))
describeStore('sqlite ahead of its disk', async () => (await openSqliteStore(newFile())).ahead())

describe('a sqlite file', () => {
  it('holds everything when it is opened again, and is its owner’s only', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    await insert(store, '1')
    const before = await store.listChanges(undefined)
    await store.close()
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const again = await openSqliteStore(file)
    expect((await again.findJob(jobOf('1').id))?.document).toEqual(jobOf('1'))
    await insert(again, '2')
    const { jobs } = await again.listChanges(before.cursor)
    expect(jobs.map(({ id }) => id)).toEqual([jobOf('2').id])
    await again.close()
  })

  it('belongs to one ICL at a time', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    const refusal = await openSqliteStore(file).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'store-locked' })
    expect(String(refusal)).toContain(file)
    await store.close()
    await (await openSqliteStore(file)).close()
  })

  it('closes, frees its lock and keeps all in its log when the disk has no room for the database', async () => {
    const file = newFile()
    const full = { code: 'ERR_SQLITE_ERROR', errcode: 13 }
    class Full extends sqlite.DatabaseSync {
      override exec(sql: string): void {
        if (/wal_checkpoint/.test(sql)) throw Object.assign(new Error('planted'), full)
        super.exec(sql)
      }
    }
    const store = await openSqliteStore(file, {
      load: async () => ({ ...sqlite, DatabaseSync: Full }),
    })
    await insert(store, '1')
    await store.close()
    const again = await openSqliteStore(file)
    expect(await again.findJob(jobOf('1').id)).toBeDefined()
    await again.close()
  })

  it('does no work between commits once it is closed', async () => {
    const store = await openSqliteStore(newFile())
    let works = 0
    store.betweenCommits(() => works++)
    await store.close()
    store.betweenCommits(() => works++)
    expect(works).toBe(1)
    expect(await codeOf(insert(store, '1'))).toBe('unavailable')
  })

  it('takes the small changes of a guest while an ICL has it', async () => {
    const file = newFile()
    expect(await codeOf(openSqliteStore(file, { guest: true }))).toBe('store-missing')
    const store = await openSqliteStore(file)
    const guest = await openSqliteStore(file, { guest: true })
    await insert(store, '1')
    const found = await guest.findJob(jobOf('1').id)
    expect(found?.version).toBe(1)
    const changed = { ...jobOf('1'), minTier: 9 }
    expect(await guest.save({ kind: 'job', job: changed, base: 1 })).toBe(true)
    expect(await store.save({ kind: 'job', job: jobOf('1'), base: 1 })).toBe(false)
    expect((await store.findJob(jobOf('1').id))?.document.minTier).toBe(9)
    await guest.close()
    expect(await insert(store, '2')).toBe(true)
    await store.close()
  })

  it('finds the jobs of a node that a guest, or a save after it, has changed', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    const guest = await openSqliteStore(file, { guest: true })
    const busyWith = async () => (await store.listJobsOfNode(nodeA)).length
    const taken = claimed(jobOf('1'), nodeA, 1)
    await insert(store, '1')
    expect(await busyWith()).toBe(0)
    await guest.save({ kind: 'job', job: taken, base: 1 })
    expect(await busyWith()).toBe(1)
    await store.save({ kind: 'job', job: { ...taken, assignments: [] }, base: 2 })
    expect(await busyWith()).toBe(0)
    await guest.close()
    await store.close()
  })

  it('keeps a save that comes while a list is read', async () => {
    const store = await openSqliteStore(newFile())
    const jobs = store.ahead()
    const job = jobOf('1')
    await jobs.save({ kind: 'job', job, base: 0 })
    const listing = jobs.listJobs({ limit: 10 })
    await jobs.save({ kind: 'job', job: { ...job, minTier: 1 }, base: 1 })
    await listing
    expect(await jobs.findJob(job.id)).toMatchObject({ version: 2, document: { minTier: 1 } })
    expect(await jobs.save({ kind: 'job', job, base: 1 })).toBe(false)
    await store.close()
  })

  it('keeps no row in memory that a guest has changed since it was read', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    const guest = await openSqliteStore(file, { guest: true })
    const node = nodeOf(nodeA)
    await store.save({ kind: 'node', node, base: 0 })
    const heard = vi.fn()
    const { nodes, look } = createDocuments(store.db, () => undefined, heard)
    look()
    expect(heard).not.toHaveBeenCalled()
    const rows = store.db.prepare(queries.listNodes).all(0)
    await guest.save({ kind: 'node', node: { ...node, leaving: true }, base: 1 })
    for (const row of rows) nodes.decode(row)
    expect(nodes.known(nodeA)).toBeUndefined()
    expect(heard).toHaveBeenCalledTimes(1)
    await guest.close()
    await store.close()
  })

  it('is refused when it is damaged, of another program, of another version, or nowhere', async () => {
    const damaged = newFile()
    writeFileSync(damaged, 'x'.repeat(8192))
    expect(await codeOf(openSqliteStore(damaged))).toBe('store-corrupt')
    const foreign = newFile()
    change(foreign, 'CREATE TABLE t (a)')
    const before = readFileSync(foreign)
    expect(await codeOf(openSqliteStore(foreign))).toBe('store-foreign')
    expect(readFileSync(foreign).equals(before)).toBe(true)
    const newer = newFile()
    await (await openSqliteStore(newer)).close()
    for (const version of [1, 999]) {
      change(newer, `UPDATE svc_icl SET version = ${version}`)
      expect(await codeOf(openSqliteStore(newer))).toBe('store-version')
      expect(await codeOf(openSqliteStore(newer, { guest: true }))).toBe('store-version')
    }
    expect(await codeOf(openSqliteStore(join(folder, 'no', 'x.db')))).toBe('store-out-of-reach')
    // None of them is left locked.
    change(newer, 'UPDATE svc_icl SET version = 10')
    await (await openSqliteStore(newer)).close()
  })

  it('that is missing or empty beside a log with saves is refused, and the log is kept', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    await insert(store, '1')
    const [whole, saves] = [readFileSync(file), readFileSync(`${file}-wal`)]
    await store.close()
    expect(saves.length).toBeGreaterThan(0)
    for (const database of [undefined, new Uint8Array()]) {
      rmSync(file, { force: true })
      if (database) writeFileSync(file, database)
      writeFileSync(`${file}-wal`, saves)
      for (const guest of [false, true]) {
        const refusal = await openSqliteStore(file, { guest }).catch((error: unknown) => error)
        expect(refusal).toMatchObject({
          code: 'store-incomplete',
          message: expect.stringContaining(`${file}-wal`),
          hint: expect.stringMatching(/back beside its log.*backup/),
        })
        expect(readFileSync(`${file}-wal`).equals(saves)).toBe(true)
      }
    }
    writeFileSync(file, whole)
    const again = await openSqliteStore(file)
    expect((await again.findJob(jobOf('1').id))?.document).toEqual(jobOf('1'))
    await again.close()
  })

  it('is told of when it is made, and only then', async () => {
    const file = newFile()
    const told: unknown[] = []
    const note = (message: string, fields?: object) => void told.push([message, fields])
    const log = { debug: note, info: note, warn: note, error: note }
    await (await openSqliteStore(file, { log })).close()
    expect(told).toEqual([['A new database was made', { file }]])
    await (await openSqliteStore(file, { log })).close()
    expect(told).toHaveLength(1)
  })

  it('says which record it cannot read', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    await insert(store, '1')
    change(file, "UPDATE jobs SET document = '{'")
    const refusal = await store.findJob(jobOf('1').id).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'store-corrupt' })
    expect(String(refusal)).toContain(jobOf('1').id)
    await store.close()
  })

  it('leaves out of lists what cannot be read', async () => {
    const file = newFile()
    await checkUnreadable(
      (log) => openSqliteStore(file, { log }),
      async ({ table, key, id }) =>
        change(file, `UPDATE ${table} SET document = '{' WHERE ${key} = '${id}'`),
    )
  })

  it('is not ready any more when a read finds it damaged', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    await insert(store, '1')
    await store.close()
    const db = new sqlite.DatabaseSync(file)
    const row = db.prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'jobs'").get()
    db.close()
    const bytes = readFileSync(file)
    bytes.fill(0xff, (Number(row?.page) - 1) * 1024, Number(row?.page) * 1024)
    writeFileSync(file, bytes)
    const damaged = await openSqliteStore(file)
    expect(damaged.status()).toMatchObject({ writable: true, reasons: [] })
    expect(await codeOf(damaged.findJob(jobOf('1').id))).toBe('unavailable')
    expect(damaged.status()).toMatchObject({
      writable: false,
      reasons: [expect.stringMatching(/malformed.*restore the last backup/)],
    })
    expect(await codeOf(insert(damaged, '2'))).toBe('unavailable')
    await damaged.close()
  })

  it('is not ready any more in an ICL that only says that it is there', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    const clock = createVirtualClock()
    const ended = new AbortController()
    const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    void createOutages({ store, clock, log }).keep(ended.signal)
    await clock.advance(5_000)
    expect(store.status()).toMatchObject({ writable: true })
    renameSync(file, `${file}.moved`)
    await clock.advance(1_000)
    expect(store.status()).toMatchObject({
      writable: false,
      reasons: [expect.stringMatching(/moved/)],
    })
    ended.abort()
    await store.close()
  })

  it('acknowledges nothing once it was moved away', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    renameSync(file, `${file}.moved`)
    expect(await codeOf(insert(store, '1'))).toBe('unavailable')
    expect(await codeOf(insert(store, '2'))).toBe('unavailable')
    expect(store.status()).toMatchObject({ writable: false })
    expect(store.status().reasons[0]).toMatch(/moved/)
    await store.close()
  })

  it('needs a runtime that has SQLite, and says so', async () => {
    const load = () => Promise.reject(new Error('No such built-in module: node:sqlite'))
    const refusal = await openSqliteStore(newFile(), { load }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'store-unavailable' })
    expect(String(refusal)).toMatch(/node:sqlite/)
  })

  it('loses nothing that was acknowledged when its process is killed', async () => {
    const file = newFile()
    const script = join(import.meta.dirname, 'sqlite-burst.ts')
    for (let kill = 0; kill < 3; kill++) {
      const child = spawn(process.execPath, [script, `${file}${kill}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let printed = ''
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk
        if (printed.length > (100 + 300 * kill) * 67) child.kill('SIGKILL')
      })
      await once(child, 'close')
      const acknowledged = printed.match(/0x[0-9a-f]{64}(?=\n)/g) ?? []
      expect(acknowledged.length).toBeGreaterThan(90)
      const store = await openSqliteStore(`${file}${kill}`)
      const jobs = await store.listJobs({ limit: 1_000_000 })
      const found = new Set<string>(jobs.map(({ id }) => id))
      expect(acknowledged.filter((id) => !found.has(id))).toEqual([])
      await store.close()
    }
  })

  it('answers every frequent question from an index', async () => {
    const file = newFile()
    await (await openSqliteStore(file)).close()
    const db = new sqlite.DatabaseSync(file)
    const plans = Object.entries(queries).map(([name, sql]) => {
      const steps = db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => String(row.detail))
      return [name, steps.join('; ')] as const
    })
    db.close()
    // Whole, but small: a row for each phase, an entry for each occupied slot, one for each job with effects.
    const small = /^SCAN (phases|occupied_slots|jobs USING COVERING INDEX jobs_by_effect)/
    for (const [name, plan] of plans) {
      expect(`${name}: ${plan.replace(small, '')}`).not.toMatch(/SCAN/)
    }
    const plan = new Map(plans)
    for (const [name, index] of [
      ['listDueTicks', 'jobs_by_tick'],
      ['listDueEffects', 'jobs_by_effect'],
      ['listJobsOfClient', 'jobs_by_client'],
      ['listJobs', 'jobs_by_age'],
      ['listJobsInPhase', 'jobs_by_phase'],
      ['countUnsettledJobsOfClient', 'jobs_unsettled'],
      ['listChanges', 'jobs_by_change'],
      ['listNodes', 'nodes_by_expiry'],
      ['listReputationEvents', 'events_by_node'],
      ['countBlobBytes', 'blobs_by_use'],
      ['listUnusedBlobs', 'blobs_by_use'],
    ] as const) {
      expect(plan.get(name)).toContain(index)
    }
    for (const name of [
      ...['listDueTicks', 'listDueEffects', 'listUnusedBlobs'],
      ...['listJobsOfClient', 'listJobs', 'listJobsInPhase'],
    ]) {
      expect(plan.get(name as keyof typeof queries)).not.toMatch(/TEMP B-TREE/)
    }
  })
})

function change(file: string, sql: string): void {
  const db = new sqlite.DatabaseSync(file)
  db.exec(sql)
  db.close()
}
