import { expect, it } from 'vitest'
import type { Blobs } from '../../../icl/blobs/blobs.ts'
import { createStoredBlobs } from '../../../icl/blobs/stored.ts'
import { createReplica, createShared } from '../test-icl.ts'

const hourMs = 3_600_000

it('blobs that are elsewhere than in the store are looked through every hour, after the store has forgotten, by one of the replicas', async () => {
  const shared = createShared()
  const asked: string[] = []
  const blobsOf = (name: string): Blobs => ({
    ...createStoredBlobs(shared.store, 1_000_000, shared.clock),
    prune: async (mayGoOn) => {
      if (mayGoOn()) asked.push(name)
      return 0
    },
  })
  const one = await createReplica(shared, { replicaId: 'one', blobs: blobsOf('one') })
  const two = await createReplica(shared, { replicaId: 'two', blobs: blobsOf('two') })
  try {
    await shared.clock.advance(5 * 60_000)
    expect(asked).toHaveLength(1)
    await shared.clock.jump(hourMs - 120_000)
    await shared.clock.advance(120_000)
    expect(asked).toHaveLength(2)
    expect(new Set(asked).size).toBe(1)
  } finally {
    await one.stop()
    await two.stop()
  }
})
