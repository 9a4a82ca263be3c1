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
import { nodeAddress } from '../rules/sample-job.ts'

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

function storedWorld(maxBytes = roomBytes): World {
  const { clock, passMs } = movableClock()
  const store = createMemoryStore()
  return { store, blobs: createStoredBlobs(store, maxBytes, clock), passMs }
}

function kuboWorld(byGateway: boolean, maxBytes?: number): World {
  if (!kubo) throw new TypeError('There is no Kubo here')
  const { clock, passMs } = movableClock()
  const store = createMemoryStore()
  const { rpcUrl, gatewayUrl } = kubo.kubo
  const blobs = createKuboBlobs({
    rpcUrl,
    gatewayUrl: byGateway ? gatewayUrl : undefined,
    pinName: `svc-icl ${systemRandom.bytes(8).join('.')}`,
    fetch: async (request) =>
      maxBytes !== undefined && request.url.includes('repo/stat')
        ? Response.json({ RepoSize: 0, StorageMax: maxBytes })
        : await fetch(request),
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
  {
    name: 'in Kubo',
    test: itWithKubo,
    note: kuboNote,
    make: (max?: number) => kuboWorld(false, max),
  },
  {
    name: 'in Kubo, read by its gateway',
    test: itWithKubo,
    note: kuboNote,
    make: (max?: number) => kuboWorld(true, max),
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
      await world.blobs.keep([cid], { until: systemClock.now() + hourMs })
      expect(await world.blobs.get(cid)).toBeUndefined()
    })

    test('go when their time has come, unless a job keeps them, and come again', async () => {
      const [kept, dropped] = [await aBlob(), await aBlob()]
      const soon = systemClock.now() + hourMs / 2
      expect(await put(kept, soon)).toBe(true)
      expect(await put(dropped, soon)).toBe(true)
      await world.blobs.keep([kept.cid], { until: soon + 3 * hourMs })
      await forget()
      world.passMs(hourMs)
      expect(await world.blobs.get(kept.cid)).toEqual(kept.bytes)
      expect(await world.blobs.get(dropped.cid)).toBeUndefined()
      expect(await put(dropped, systemClock.now() + 3 * hourMs)).toBe(true)
      await forget()
      expect(await world.blobs.get(dropped.cid)).toEqual(dropped.bytes)
    })

    test('that are not in use make room: the oldest first, those of accepted jobs last', async () => {
      const { blobs, passMs } = make(20 * 1_000)
      const until = systemClock.now() + 9 * hourMs
      const fill = async (count: number, usedUntil?: number) => {
        const filled = await Promise.all(Array.from({ length: count }, () => aBlob()))
        for (const one of filled) {
          passMs(1)
          const options = { uploader: 'wallet', until, usedUntil } as const
          expect(await blobs.put(one.cid, one.bytes, options)).toBe(true)
        }
        return filled
      }
      const left = async (some: readonly { cid: string }[]) =>
        (await Promise.all(some.map(({ cid }) => blobs.get(cid)))).filter(Boolean).length
      const accepted = await fill(2)
      await blobs.keep(
        accepted.map(({ cid }) => cid),
        { until, isAnswered: true },
      )
      const used = await fill(2, until)
      const others = await fill(6)
      // An upload that comes again makes a blob no younger.
      await blobs.put(others[0]!.cid, others[0]!.bytes, { uploader: 'wallet', until })
      await fill(2)
      expect([await left(accepted), await left(used), await left(others)]).toEqual([2, 2, 4])
      expect(await left(others.slice(0, 2))).toBe(0)
      await fill(7, until)
      expect([await left(accepted), await left(used), await left(others)]).toEqual([1, 2, 0])
      await fill(1, until)
      const { cid, bytes } = await aBlob()
      expect(await blobs.put(cid, bytes, { uploader: 'wallet', until })).toBe(false)
      expect([await left(accepted), await left(used)]).toEqual([0, 2])
    })

    test('have a share of the room for each account in an hour', async () => {
      const { blobs } = make(40 * 1_000)
      const until = systemClock.now() + hourMs
      const putAs = async (digit: string, { cid, bytes }: Awaited<ReturnType<typeof aBlob>>) => {
        const account = nodeAddress(digit)
        return await blobs.put(cid, bytes, { uploader: 'wallet', account, until })
      }
      const first = await aBlob()
      for (let count = 1; count < 5; count++) expect(await putAs('1', await aBlob())).toBe(true)
      expect(await putAs('1', first)).toBe(true)
      await expect(putAs('1', await aBlob())).rejects.toMatchObject({ code: 'unavailable' })
      expect(await putAs('1', first)).toBe(true)
      expect(await putAs('2', await aBlob())).toBe(true)
    })

    test('answer when asked how they are', async () => {
      await world.blobs.ping()
      expect(await world.blobs.prune(() => false)).toBe(0)
    })
  })
}
