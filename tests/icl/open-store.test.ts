import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openServiceStore, openStore } from '../../icl/start/open-store.ts'
import { codeOf } from '../code-of.ts'
import { jobOf } from '../store/suite.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-open-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const text = join(folder, 'text')
writeFileSync(text, 'This is no database. '.repeat(40))
const nobody = 'mongodb://127.0.0.1:1/svc?serverSelectionTimeoutMS=100'

/** Opens the store of an ICL, with what it logs. */
async function open(url: string, file?: string, startEmpty = 0) {
  const logged: string[] = []
  const note = (message: string, fields: object = {}) => {
    logged.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: note, info: note, warn: note, error: note }
  const settings = {
    ...{ SVC_ICL_DATABASE_URL: url, SVC_ICL_REPLICAS: 1, SVC_ICL_LOCAL_COPY: file },
    SVC_ICL_START_EMPTY: startEmpty,
  }
  const store = await openServiceStore(settings, log)
  return { store, logged: logged.join('\n') }
}

describe('a store whose folder cannot be reached', () => {
  for (const place of [join(folder, 'none', 'icl.db'), join(text, 'icl.db')]) {
    it(`is in memory, and says so (${place === join(text, 'icl.db') ? 'no folder' : 'none'})`, async () => {
      const { store, logged } = await open(`sqlite:${place}`)
      expect([store.durable, store.status().writable]).toEqual([false, true])
      expect(store.status().reasons.join()).toContain(place)
      expect(logged).toContain('The store is in memory, as its file is out of reach')
      expect(await store.save({ kind: 'job', job: jobOf('1'), base: 0 })).toBe(true)
      await store.close()
    })
  }

  it('keeps in memory what MongoDB does not take, where MongoDB should follow it and it may start empty', async () => {
    const closed = await open(nobody, join(text, 'copy.db'))
    expect(closed.store.status().writable).toBe(false)
    await closed.store.close()
    const { store, logged } = await open(nobody, join(text, 'copy.db'), 1)
    expect(store.durable).toBe(false)
    expect(store.status().reasons.join()).toContain('a crash loses what the database does not have')
    expect(logged).toContain('out of reach')
    expect(await store.save({ kind: 'job', job: jobOf('1'), base: 0 })).toBe(true)
    await store.commits.barrier()()
    expect((await Array.fromAsync(store.scan())).length).toBe(1)
    await store.close()
  })

  it('is no excuse for a damaged file, or one of another version', async () => {
    const newer = join(folder, 'newer.db')
    await (await openStore(`sqlite:${newer}`)).close()
    // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(newer)
    db.exec('UPDATE svc_icl SET version = 999')
    db.close()
    for (const [file, code] of [
      [text, 'store-corrupt'],
      [newer, 'store-version'],
    ] as const) {
      expect(await codeOf(open(`sqlite:${file}`))).toBe(code)
      expect(await codeOf(open(nobody, file, 1))).toBe(code)
    }
  })
})
