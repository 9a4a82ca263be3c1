import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { openMongoStore } from '../../icl/store/mongodb/store.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { describeStore } from './suite.ts'
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

  it('a store leaves out of lists what cannot be read', async () => {
    const url = server.freshUrl()
    await checkUnreadable(
      (log) => openMongoStore({ url, clock: systemClock, random: systemRandom, timeouts, log }),
      async ({ table, id }) => {
        const client = new MongoClient(url)
        const rows = client.db().collection<{ _id: string }>(table)
        await rows.updateOne({ _id: id }, { $set: { document: '{' } })
        await client.close()
      },
    )
  })
})
