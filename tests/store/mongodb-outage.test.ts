import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSharedStore } from '../../icl/store/mongodb/shared.ts'
import type { Store } from '../../icl/store/store.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'
import { startProxy, type WireProxy } from './wire-server/proxy.ts'

const missing = await whyNoWireServer()
// On Bun, about one client in five never finds a server again that went away behind a proxy.
const storeCount = 8
const outages = 2
const callers = 10
const awayMs = 3_000
const patienceMs = 120_000
const timeouts = { selectionMs: 1_500, answerMs: 3_000, retryWithinMs: 1_000 }

describe('stores whose server goes away behind a proxy that closes what it cannot pass on', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let proxy: WireProxy
  const stores: Store[] = []
  beforeAll(async () => {
    server = await openWireServer()
    proxy = await startProxy(server.upstream)
    for (let index = 0; index < storeCount; index++) {
      const url = `mongodb://127.0.0.1:${proxy.port}${new URL(server.freshUrl()).pathname}?directConnection=true`
      const store = createSharedStore({ url, clock, random, timeouts })
      stores.push(store)
    }
  }, 120_000)
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await proxy.close()
    await server.close()
  })
  const areUp = (isUp: boolean) => async () => {
    await Promise.all(stores.map((store) => store.ping().catch(() => {})))
    return stores.every((store) => store.status().connected === isUp)
  }
  const until = async (holds: () => Promise<boolean>): Promise<boolean> => {
    const end = clock.now() + patienceMs
    while (!(await holds())) {
      if (clock.now() > end) return false
      await clock.sleep(100)
    }
    return true
  }

  /** Calls under way at any time: an outage that comes as they begin finds connections in every state, half open ones, too. */
  const use = async (store: Store, signal: AbortSignal) => {
    while (!signal.aborted) {
      await store.findKey('some key', clock.now()).catch(() => {})
      await clock.sleep(1)
    }
  }

  it('are all back, every time', { timeout: 700_000 }, async () => {
    expect(await until(areUp(true))).toBe(true)
    for (let outage = 0; outage < outages; outage++) {
      const stop = new AbortController()
      const using = stores.flatMap((store) =>
        Array.from({ length: callers }, () => use(store, stop.signal)),
      )
      proxy.takeAway()
      expect(await until(areUp(false))).toBe(true)
      await clock.sleep(awayMs)
      // The first to be back would keep a slow server too busy to take the others.
      stop.abort()
      await Promise.all(using)
      proxy.restore()
      expect(await until(areUp(true))).toBe(true)
    }
  })
})
