import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { openStore } from '../../icl/start/open-store.ts'
import { openMirror } from '../../icl/store/mirror/mirror.ts'
import { openSqliteStore, whileStopped } from '../../icl/store/sqlite/file.ts'
import type { Store } from '../../icl/store/store.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { eventually } from '../eventually.ts'
import { createMemoryDatabase } from './mirror-world.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-commands-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const quiet = () => {}
let files = 0

/** A file, and a database that follows it. */
function createWorld() {
  const file = join(folder, `${files++}.db`)
  const { follower } = createMemoryDatabase()
  const notes: string[] = []
  const log = {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (text: string) => void notes.push(text),
  }
  return {
    file,
    notes,
    start: async () =>
      openMirror({
        ...{ store: await openSqliteStore(file), follower, name: 'a', clock, random },
        log: { ...log, warn: quiet },
      }),
    command: async (keys: readonly string[], guest = true) => {
      const store = await openStore(`sqlite:${file}`, { guest, log })
      for (const key of keys) await save(store, key)
      await store.close()
    },
  }
}

async function save(store: Store, key: string): Promise<void> {
  const barrier = store.commits.barrier()
  expect(await store.save({ kind: 'key', key, value: 'v', now: 0, expiresAt: 9 })).toBe(true)
  await barrier()
}

it('an older file that commands have changed since is refused', async () => {
  for (const guest of [true, false]) {
    const world = createWorld()
    const old = `${world.file}.old`
    const store = await world.start()
    await save(store, 'a')
    const reader = new DatabaseSync(world.file)
    reader.exec(`VACUUM INTO '${old}'`)
    reader.close()
    await save(store, 'b')
    await store.close()
    cpSync(old, world.file)
    await world.command(['c', 'd', 'e'], guest)
    expect(await codeOf(world.start())).toBe('store-behind')
  }
})

it('a command says when MongoDB gets its changes, unless the ICL runs or it made none', async () => {
  const world = createWorld()
  let store = await world.start()
  await eventually('it follows', async () => store.status().connected)
  await world.command(['a'])
  await save(store, 'b')
  await store.close()
  await world.command([])
  expect(world.notes).toEqual([])
  await world.command(['c', 'd'])
  expect(world.notes).toEqual([expect.stringContaining('start and stop it before you change')])
  // The changes of all these pass for those of the file.
  store = await world.start()
  await eventually('it follows', async () => store.status().connected)
  await store.close()
})

it('a start waits for a command that has the lock of the file for a moment', async () => {
  const { file } = createWorld()
  await (await openSqliteStore(file)).close()
  const waits = Promise.withResolvers<void>()
  let opened: ReturnType<typeof openSqliteStore> | undefined
  const command = whileStopped(file, async () => {
    const sleep = async () => {
      waits.resolve()
      await command
    }
    opened = openSqliteStore(file, { clock: { sleep } })
    await Promise.race([waits.promise, opened])
  })
  await command
  await (await opened)?.close()
  expect(opened).toBeDefined()
})
