import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSharedStore } from '../../icl/store/mongodb/shared.ts'
import { openMongoStore } from '../../icl/store/mongodb/store.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { describeStore, jobOf } from './suite.ts'
import { checkUnreadable } from './unreadable.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'

const missing = await whyNoWireServer()
// A busy disk answers late, which is not what is tested here.
const timeouts = { selectionMs: 30_000, answerMs: 30_000, retryWithinMs: 30_000 }

describe('on a server that speaks MongoDB’s protocol', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  beforeAll(async () => {
    server = await openWireServer()
  })
  afterAll(() => server.close())
  const open = (url = server.freshUrl()) =>
    openMongoStore({ url, clock: systemClock, random: systemRandom, timeouts })

  describeStore('mongodb', () => open())
  describeStore('shared mongodb', async () => {
    const options = { url: server.freshUrl(), clock: systemClock, random: systemRandom, timeouts }
    return openMongoStore(options, createSharedStore(options))
  })

  it('a store that is closed ends the calls under way as unavailable, whatever the driver calls them', async () => {
    const job = jobOf('1')
    const calls = (store: Awaited<ReturnType<typeof open>>) => [
      ...Array.from({ length: 8 }, () => store.save({ kind: 'job', job, base: 0 })),
      ...Array.from({ length: 8 }, () => store.findJob(job.id)),
      ...Array.from({ length: 8 }, () => store.listChanges(undefined)),
    ]
    const codes = new Set<unknown>()
    for (const turns of [0, 1, 5, 20, 50]) {
      const store = await open()
      await store.ping()
      const ends = calls(store).map((call) =>
        call.then(
          () => undefined,
          (error) => error,
        ),
      )
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
      await store.close()
      for (const error of await Promise.all(ends)) {
        if (error !== undefined) codes.add((error as { code?: unknown }).code ?? error)
      }
    }
    expect([...codes]).toEqual(['unavailable'])
  })

  it('a store leaves out of lists what cannot be read', async () => {
    const url = server.freshUrl()
    await checkUnreadable(
      (log) => openMongoStore({ url, clock: systemClock, random: systemRandom, timeouts, log }),
      async ({ table, id }) => {
        const client = new MongoClient(url)
        const rows = client.db().collection<{ _id: string }>('records')
        await rows.updateOne({ _id: `${table.slice(0, -1)}:${id}` }, { $set: { document: '{' } })
        await client.close()
      },
    )
  })
})
