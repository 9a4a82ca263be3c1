import { describe, expect, it } from 'vitest'
import { createStoredBlobs } from '../../../icl/blobs/stored.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import { cidOf } from '../../../lib/cid.ts'
import { utf8 } from '../../../lib/digest.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

const blobBytes = 1_000
const hourMs = 3_600_000

const aBlob = async (name: string) => {
  const bytes = utf8(name.padEnd(blobBytes, '.'))
  return { cid: await cidOf(bytes), bytes }
}

/** Blobs with room for ten of wallets, all in use, over a store whose calls are counted and may fail. */
function world() {
  const clock = createVirtualClock()
  const real = createMemoryStore()
  const seen = { counts: 0, failures: 0 }
  const store: Store = {
    ...real,
    countBlobBytes: (...which) => {
      seen.counts += 1
      return real.countBlobBytes(...which)
    },
    save: async (write) => {
      if (write.kind === 'blob' && seen.failures-- > 0) throw new Error('the store is away')
      return real.save(write)
    },
  }
  const blobs = createStoredBlobs(store, 20 * blobBytes, clock)
  const put = async (name: string, signal?: AbortSignal) => {
    const { cid, bytes } = await aBlob(name)
    const until = clock.now() + hourMs
    return blobs.put(cid, bytes, { uploader: 'wallet', until, usedUntil: until, signal })
  }
  return { clock, store: real, seen, put }
}

describe('the room of the store for blobs', () => {
  it('is counted once for many uploads at once, and not overfilled by them', async () => {
    const { store, seen, put } = world()
    const put30 = await Promise.all(Array.from({ length: 30 }, (_, index) => put(`${index}`)))
    expect(put30.filter(Boolean)).toHaveLength(10)
    expect(await store.countBlobBytes('wallet')).toBe(10 * blobBytes)
    expect(seen.counts).toBeLessThanOrEqual(3)
  })

  it('is taken once by a blob that comes from many at once', async () => {
    const { put } = world()
    const same = await Promise.all(Array.from({ length: 30 }, () => put('the same')))
    expect(same.every(Boolean)).toBe(true)
    const others = await Promise.all(Array.from({ length: 9 }, (_, index) => put(`${index}`)))
    expect(others.every(Boolean)).toBe(true)
  })

  it('is not taken by what was given up before it was saved', async () => {
    const { store, put } = world()
    const caller = new AbortController()
    const given = [put('one', caller.signal), put('one', caller.signal), put('two', caller.signal)]
    caller.abort(new Error('too late'))
    for (const { status } of await Promise.allSettled(given)) expect(status).toBe('rejected')
    expect(await store.countBlobBytes('wallet')).toBe(0)
    const put10 = await Promise.all(Array.from({ length: 10 }, (_, index) => put(`${index}`)))
    expect(put10.every(Boolean)).toBe(true)
  })

  it('is told in whole bytes, also half of an odd number', async () => {
    const blobs = createStoredBlobs(createMemoryStore(), 1_001, createVirtualClock())
    const { wallet } = await blobs.rooms()
    expect(wallet).toEqual({ bytes: 500, freeBytes: 500, openBytes: 500 })
  })

  it('is not taken by what could not be saved', async () => {
    const { seen, put } = world()
    expect(await put('first')).toBe(true)
    seen.failures = 20
    const failed = Array.from({ length: 9 }, (_, index) => put(`failed ${index}`))
    expect((await Promise.allSettled(failed)).map(({ status }) => status)).not.toContain(
      'fulfilled',
    )
    seen.failures = 0
    for (let index = 0; index < 9; index++) expect(await put(`${index}`)).toBe(true)
    expect(await put('one more')).toBe(false)
  })

  it('is there again once what was in it is not in use', async () => {
    const { clock, put } = world()
    for (let index = 0; index < 10; index++) expect(await put(`${index}`)).toBe(true)
    expect(await put('one more')).toBe(false)
    await clock.advance(hourMs)
    expect(await put('one more')).toBe(true)
  })
})
