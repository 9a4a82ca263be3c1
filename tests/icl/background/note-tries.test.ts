import { expect, it } from 'vitest'
import { createKeyedMutex } from '../../../icl/async/mutex.ts'
import { deliverEffects } from '../../../icl/background/deliver-effects.ts'
import { createSlotTurns } from '../../../icl/background/slot-turns.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { createReplica, createShared, joinNodes } from '../test-icl.ts'

it('a try that ends while others are recorded is recorded, too', async () => {
  const shared = createShared()
  const { store } = shared
  let slow: string | undefined
  const isRecording = Promise.withResolvers<void>()
  const isScored = Promise.withResolvers<void>()
  const icl = await createReplica(shared, {
    store: {
      ...store,
      findNode: async (address) => {
        if (address === slow) await isRecording.promise
        return store.findNode(address)
      },
      saveAll: async (writes) => {
        if (writes.some(({ kind }) => kind === 'job')) {
          isRecording.resolve()
          await isScored.promise
        }
        const refused = await store.saveAll(writes)
        if (writes.some((write) => write.kind === 'node' && write.node.address === slow)) {
          isScored.resolve()
        }
        return refused
      },
    },
  })
  const nodes = await joinNodes(icl, 2)
  slow = nodes[1]?.address
  const outbox = nodes.map(({ address: node }, at) => {
    const effect = { type: 'score-node', node, fence: at + 1, code: 'lease-lapsed' } as const
    return { id: at + 1, effect, dueAt: 1e15, attempts: 0 }
  })
  const job = { ...sampleJob(), outbox, tickAt: 1e15 }
  await store.save({ kind: 'job', job, base: 0 })
  const noted: number[] = []
  const delivered = deliverEffects(icl.deps, job.id, [1, 2], {
    term: new AbortController().signal,
    offers: createKeyedMutex(),
    turns: createSlotTurns(icl.clock, 1_000),
    noteLater: () => false,
    onNoted: (ids) => void noted.push(...ids),
  })
  await icl.clock.advance(1_000)
  await delivered
  expect(noted).toEqual([1, 2])
  expect((await store.findJob(job.id))?.document.outbox).toEqual([])
  await icl.stop()
})
