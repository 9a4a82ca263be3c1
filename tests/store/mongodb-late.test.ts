import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBridge } from '../../icl/store/bridge/bridge.ts'
import { createMongoStore } from '../../icl/store/mongodb/store.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { eventually } from '../eventually.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { createCopyDisk, jobOf } from './bridge-world.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'
import { type Fate, startProxy, type WireProxy } from './wire-server/proxy.ts'

const missing = await whyNoWireServer()
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const one = jobOf('1')
const event = { id: 'e', node: nodeA, jobId: one.id, code: 'answer-delivered', at: 1 } as const

describe('a save that a slow database has not done in time', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let proxy: WireProxy
  beforeAll(async () => {
    server = await openWireServer()
    proxy = await startProxy(server.upstream, server.mutex)
  }, 120_000)
  afterAll(async () => {
    await proxy.close()
    await server.close()
  })

  it('takes nothing back later of what its replay has saved', { timeout: 300_000 }, async () => {
    const url = `mongodb://127.0.0.1:${proxy.port}${new URL(server.freshUrl()).pathname}?directConnection=true`
    const copy = createCopyDisk().open()
    const store = await openBridge({
      open: async () => createMongoStore({ url, clock, random }),
      ...{ copy, replicaId: 'a', clock, random, log: silent, callMs: 1_000 },
    })
    const database = createMongoStore({ url, clock, random })
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let isHeld = false
    proxy.fateOf = async (command): Promise<Fate> => {
      if (command === 'update' && !isHeld) {
        isHeld = true
        await held
      }
      return 'forward'
    }
    try {
      const writes = [
        { kind: 'event', event } as const,
        { kind: 'job', job: one, base: 0 } as const,
      ]
      expect(await store.saveAll(writes)).toBeUndefined()
      await eventually('the database is back', async () => store.status().connected)
      expect(await store.save({ kind: 'job', job: { ...one, minTier: 3 }, base: 1 })).toBe(true)
      const events = () => database.listReputationEvents(nodeA, { limit: 9 })
      expect((await events()).length).toBe(1)
      release()
      // As long as the first attempt may go on.
      await clock.sleep(2_000)
      expect((await events()).length).toBe(1)
      expect((await database.findJob(one.id))?.document.minTier).toBe(3)
    } finally {
      release()
      await store.close()
      await database.close()
    }
  })
})
