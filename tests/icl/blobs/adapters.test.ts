import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Blobs } from '../../../icl/blobs/blobs.ts'
import { createKuboBlobs } from '../../../icl/blobs/kubo.ts'
import { createStoredBlobs } from '../../../icl/blobs/stored.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import { cidOf } from '../../../lib/cid.ts'
import type { Clock } from '../../../lib/clock.ts'
import { maxBlobBytes } from '../../../lib/endpoints.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { itWithKubo, kuboNote, startTestKubo } from '../../tools/kubo.ts'
import { keep } from './keep.ts'

type World = { readonly store: Store; readonly blobs: Blobs; readonly passMs: (ms: number) => void }

const hourMs = 3_600_000
const roomBytes = 16 * 1024 * 1024
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const kubo = await startTestKubo()
afterAll(() => kubo?.stop())

/** The real clock, which a test may put forward. */
function movableClock() {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  return {
    clock,
    passMs: (ms: number) => {
      aheadMs += ms
    },
  }
}

function storedWorld(): World {
  const { clock, passMs } = movableClock()
  const store = createMemoryStore()
  return { store, blobs: createStoredBlobs(store, roomBytes, clock), passMs }
}

function kuboWorld(byGateway: boolean): World {
  if (!kubo) throw new TypeError('There is no Kubo here')
  const { clock, passMs } = movableClock()
  const store = createMemoryStore()
  const { rpcUrl, gatewayUrl } = kubo.kubo
  const blobs = createKuboBlobs({
    rpcUrl,
    gatewayUrl: byGateway ? gatewayUrl : undefined,
    pinName: `svc-icl ${systemRandom.bytes(8).join('.')}`,
    fetch: (request) => fetch(request),
    store,
    clock,
    log,
  })
  return { store, blobs, passMs }
}

async function aBlob(size = 1_000) {
  const bytes = new Uint8Array(size)
  for (let from = 0; from < size; from += 1_024) {
    bytes.set(systemRandom.bytes(Math.min(1_024, size - from)), from)
  }
  return { bytes, cid: await cidOf(bytes) }
}

const adapters = [
  { name: 'in the store', test: it, note: '', make: storedWorld },
  { name: 'in Kubo', test: itWithKubo, note: kuboNote, make: () => kuboWorld(false) },
  {
    name: 'in Kubo, read by its gateway',
    test: itWithKubo,
    note: kuboNote,
    make: () => kuboWorld(true),
  },
]

for (const { name, test, note, make } of adapters) {
  describe(`blobs ${name}${note}`, () => {
    let world: World
    beforeAll(() => {
      if (test === it || kubo) world = make()
    })
    const put = ({ bytes, cid }: Awaited<ReturnType<typeof aBlob>>, until: number) =>
      world.blobs.put(cid, bytes, { uploader: 'wallet', until })
    const forget = async () => {
      await world.store.prune({ now: systemClock.now() + hourMs, settledBefore: 0, limit: 1_000 })
      return world.blobs.prune(() => true)
    }

    test('are given back as they were put, however often, up to the largest', async () => {
      for (const size of [1, 1_000, maxBlobBytes]) {
        const blob = await aBlob(size)
        const until = systemClock.now() + 2 * hourMs
        expect(await put(blob, until)).toBe(true)
        expect(await put(blob, until)).toBe(true)
        expect(await put(blob, until + hourMs)).toBe(true)
        expect(await world.blobs.get(blob.cid)).toEqual(blob.bytes)
      }
    })

    test('that nobody put are not there', async () => {
      const { cid } = await aBlob()
      expect(await world.blobs.get(cid)).toBeUndefined()
      await keep(world, cid, systemClock.now() + hourMs)
      expect(await world.blobs.get(cid)).toBeUndefined()
    })

    test('go when their time has come, unless a job keeps them, and come again', async () => {
      const [kept, dropped] = [await aBlob(), await aBlob()]
      const soon = systemClock.now() + hourMs / 2
      expect(await put(kept, soon)).toBe(true)
      expect(await put(dropped, soon)).toBe(true)
      await keep(world, kept.cid, soon + 3 * hourMs)
      await forget()
      world.passMs(hourMs)
      expect(await world.blobs.get(kept.cid)).toEqual(kept.bytes)
      expect(await world.blobs.get(dropped.cid)).toBeUndefined()
      expect(await put(dropped, systemClock.now() + 3 * hourMs)).toBe(true)
      await forget()
      expect(await world.blobs.get(dropped.cid)).toEqual(dropped.bytes)
    })

    test('answer when asked how they are', async () => {
      await world.blobs.ping()
      expect(await world.blobs.prune(() => false)).toBe(0)
    })
  })
}
