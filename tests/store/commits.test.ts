import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Follower } from '../../icl/store/mirror/follower.ts'
import { openMirror } from '../../icl/store/mirror/mirror.ts'
import { openMongoStore } from '../../icl/store/mongodb/store.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import type { Store } from '../../icl/store/store.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { createFakeChain } from '../icl/fake-chain.ts'
import { jobCosts } from '../icl/job-costs.ts'
import { createReplica } from '../icl/test-icl.ts'
import { createVirtualClock, holdTime, type VirtualClock } from '../virtual-clock.ts'
import { createCutStore } from './cut-store.ts'
import { createMemoryDatabase } from './mirror-world.ts'
import { openWireServer, whyNoWireServer } from './wire-server/open.ts'
import { startProxy } from './wire-server/proxy.ts'

/*
 * What each command of one job costs on each adapter, counted where it leaves the process: commits of a sqlite file, calls of a
 * mirror's database, commands to a server that speaks MongoDB's protocol.
 */

const missing = await whyNoWireServer()
// A busy disk answers late, which is not what is tested here.
const timeouts = { selectionMs: 30_000, answerMs: 30_000, retryWithinMs: 30_000 }
const folder = mkdtempSync(join(tmpdir(), 'svc-commits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

/** A sqlite file that counts its commits; while no virtual time passes, each is caused by a waiting caller. */
async function openCounting(clock: VirtualClock, note: () => void) {
  // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
  const sqlite = await import('node:sqlite')
  class DatabaseSync extends sqlite.DatabaseSync {
    override exec(sql: string): void {
      if (sql === 'COMMIT') note()
      super.exec(sql)
    }
  }
  return openSqliteStore(join(folder, `${files++}.db`), {
    clock,
    load: async () => ({ ...sqlite, DatabaseSync }),
  })
}

/** A store on which virtual time waits for what is under way. */
const timeless = (store: Store): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (name === 'status' || name === 'scan' || typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        const release = holdTime()
        try {
          return await value.apply(target, args)
        } finally {
          release()
        }
      }
    },
  })

/** Runs the job; `count` gives what was counted so far. The commands go to `counted`. */
async function costsOn(
  store: Store,
  clock: VirtualClock,
  count: () => readonly number[],
  counted = store,
) {
  const icl = await createReplica({ clock, chain: createFakeChain(), store: timeless(store) })
  const costs = await jobCosts(icl, timeless(counted), async (work) => {
    // What the background still does is not the command's.
    await clock.advance(0)
    await counted.commits.barrier()()
    const before = count()
    await work()
    await counted.commits.barrier()()
    return count().map((now, at) => now - before[at]!)
  })
  await icl.stop()
  return costs
}

/** The file's commits and the database's calls. */
async function costsOfMirror(isAway: boolean) {
  let commits = 0
  let puts = 0
  const clock = createVirtualClock()
  const { follower } = createMemoryDatabase()
  const counting: Follower = {
    ...follower,
    put: (owner, heads, states) => {
      if (states.length > 0) puts++
      return follower.put(owner, heads, states)
    },
  }
  const connection = createCutStore<Follower>(counting)
  const ignore = () => {}
  const store = await clock.until(
    openMirror({
      store: await openCounting(clock, () => commits++),
      ...{ follower: connection.store, name: 'a', clock, random: systemRandom },
      log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    }),
  )
  if (isAway) connection.cut = 'before'
  await clock.advance(10_000)
  const costs = await costsOn(store, clock, () => [commits, puts])
  await clock.until(store.close())
  return costs
}

// A save is a commit; whether a blob is there is asked by keeping it, which is refused for a new one. A process keeps the two parts of a
// pool longer once, each by a save of its own.
const saves = {
  heartbeat: 1,
  upload: 4,
  submission: 3,
  'repeated submission': 1,
  claim: 1,
  commit: 1,
  reveal: 1,
  delivery: 1,
  contradiction: 1,
  verdict: 3,
  'own assignment': 0,
  score: 1,
  effect: 1,
  pool: 4,
}
const each = (costsOf: (count: number) => readonly number[]) =>
  Object.fromEntries(Object.entries(saves).map(([name, count]) => [name, costsOf(count)]))

describe('what a command costs', () => {
  it('on sqlite: one commit, whatever it saves before its answer', async () => {
    let commits = 0
    const clock = createVirtualClock()
    const store = (await openCounting(clock, () => commits++)).ahead()
    const costs = await costsOn(store, clock, () => [commits])
    await store.close()
    expect(costs).toEqual(each((count) => [Math.min(count, 1)]))
  })

  it('on a mirror: what sqlite costs, and a call to the database for it', async () => {
    const once = each((count) => [Math.min(count, 1), Math.min(count, 1)])
    expect(await costsOfMirror(false)).toEqual(once)
    expect(await costsOfMirror(true)).toEqual(each((count) => [Math.min(count, 1), 0]))
  })

  it.skipIf(missing)('on MongoDB: a command for each save', async () => {
    const server = await openWireServer()
    const proxy = await startProxy(server.upstream)
    let commands = 0
    proxy.fateOf = (command) => {
      if (['insert', 'update', 'delete', 'findAndModify'].includes(command)) commands++
      return 'forward'
    }
    const direct = server.freshUrl()
    const proxied = `mongodb://127.0.0.1:${proxy.port}${new URL(direct).pathname}?directConnection=true`
    const open = (url: string) =>
      openMongoStore({ url, clock: systemClock, random: systemRandom, timeouts })
    // The background, which a command wakes, writes by another connection.
    const [store, counted] = [await open(direct), await open(proxied)]
    const costs = await costsOn(store, createVirtualClock(), () => [commands], counted)
    await counted.close()
    await store.close()
    await proxy.close()
    await server.close()
    expect(costs).toEqual(each((count) => [count]))
  })
})
