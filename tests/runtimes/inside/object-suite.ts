import { expect, it } from 'vitest'
import { type ObjectState, openObjectStore } from '../../../icl/store/sqlite/object.ts'
import { describeStore, jobOf } from '../../store/suite.ts'
import type { Case } from './case.ts'
import { suiteCases } from './vitest.ts'

/** The tests of the store in the storage of a Durable Object, which is emptied for each. */
export function objectCases(object: ObjectState): readonly Case[] {
  const { sql } = object.storage
  const open = async () => {
    for (const type of ['trigger', 'table']) {
      const named = sql.exec('SELECT name FROM sqlite_schema WHERE type = ?', type).toArray()
      for (const { name } of named) {
        if (!String(name).startsWith('_cf_')) sql.exec(`DROP ${type} ${name}`).toArray()
      }
    }
    return openObjectStore(object)
  }
  describeStore('object', open)
  describeStore('object ahead of its disk', async () => (await open()).ahead())

  it('the object store opens what it holds, and refuses another version', async () => {
    const store = await open()
    await store.save({ kind: 'job', job: jobOf('1'), base: 0 })
    expect((await openObjectStore(object).findJob(jobOf('1').id))?.document).toEqual(jobOf('1'))
    sql.exec('UPDATE svc_icl SET version = 999').toArray()
    expect(() => openObjectStore(object)).toThrow('another version')
  })

  it('the object store refuses a row that Cloudflare would refuse', async () => {
    const store = await open()
    // Two bytes of UTF-8 each, one character.
    const job = (characters: number) => jobOf('1', { commitError: 'é'.repeat(characters) })
    await expect(store.save({ kind: 'job', job: job(1_000_000), base: 0 })).rejects.toThrow(
      'of a Durable Object',
    )
    expect(await store.findJob(jobOf('1').id)).toBeUndefined()
    expect(await store.save({ kind: 'job', job: job(990_000), base: 0 })).toBe(true)
    expect((await store.findJob(jobOf('1').id))?.document).toEqual(job(990_000))
  })

  it('the object store reports an error of SQLite, and lets others pass', async () => {
    const store = await open()
    sql.exec('DROP TABLE keys').toArray()
    await expect(store.findKey('a', 1)).rejects.toThrow('no such table: keys: SQLITE_ERROR')
    expect(store.status()).toMatchObject({ writable: true })
  })
  return suiteCases
}
