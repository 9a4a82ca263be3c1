import { afterAll, beforeAll, describe, it } from 'vitest'
import { openMongoStore } from '../../icl/store/mongodb.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { describeStore } from './suite.ts'
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
})
