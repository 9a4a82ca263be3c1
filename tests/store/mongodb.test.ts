import { afterAll, beforeAll, describe, it } from 'vitest'
import { openMongoStore } from '../../icl/store/mongodb.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { describeStore } from './suite.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'

const missing = await whyNoWireServer()

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
    openMongoStore({ url, clock: systemClock, random: systemRandom })

  describeStore('mongodb', () => open())
})
