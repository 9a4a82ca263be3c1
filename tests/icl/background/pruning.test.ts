import { expect, it } from 'vitest'
import { createStoredBlobs } from '../../../icl/blobs/stored.ts'
import type { Store } from '../../../icl/store/store.ts'
import { useReplicas } from '../replica-set.ts'
import { createShared } from '../test-icl.ts'

const { start } = useReplicas()

async function has(store: Store, key: string): Promise<boolean> {
  for await (const record of store.scan()) {
    if (record.kind === 'key' && record.key === key) return true
  }
  return false
}

it('what is over is forgotten a minute after a store that was away is back, and not an hour', async () => {
  const shared = createShared()
  const { store, clock } = shared
  const { prune } = store
  store.prune = async () => {
    throw new Error('the store is away')
  }
  await store.save({ kind: 'key', key: 'old', value: 'v', now: 0, expiresAt: 1 })
  await start(shared, 'a')
  await clock.advance(90_000)
  Object.assign(store, { prune })
  expect(await has(store, 'old')).toBe(true)
  await clock.advance(70_000)
  expect(await has(store, 'old')).toBe(false)
})

it('blobs that are refused are tried again an hour later, because that goes through all of them', async () => {
  const shared = createShared()
  let asked = 0
  const { store, clock } = shared
  const blobs = createStoredBlobs(store, 1_024, clock)
  const prune = async () => {
    asked += 1
    throw new Error('Kubo refused')
  }
  await start(shared, 'a', { blobs: { ...blobs, prune } })
  await clock.advance(1_800_000)
  expect(asked).toBe(1)
  await clock.advance(3_600_000)
  expect(asked).toBe(2)
})
