import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { aJobId } from '../../branded.ts'
import { offersOf } from '../node-steps.ts'
import { at, useReplicas } from '../replica-set.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { submit } from '../test-client.ts'
import { createTestIcl } from '../test-icl.ts'

const { pair } = useReplicas()

describe('a job that cannot be read', () => {
  it('does not hold up what is done outside for the others', async () => {
    const { a, store, clock, nodes } = await pair()
    const { jobId: unreadable } = await submit(a, { client: 'c1', commit: false })
    const { findJob } = store
    const failing: Pick<Store, 'findJob'> = {
      findJob: (id) => (id === unreadable ? Promise.reject(new Error('corrupt')) : findJob(id)),
    }
    Object.assign(store, failing)
    await clock.advance(2_000)
    const job = await submit(a, { client: 'c2' })
    const leader = nodes.find(({ address }) => address === job.leader)!
    expect(await offersOf(leader)).toHaveLength(1)
  })

  it('does not hide that a result of another is not on chain', async () => {
    const store = createMemoryStore()
    const icl = await createTestIcl({ store })
    const dueAt = icl.clock.now() + 3_600_000
    const outbox = [{ id: 0, effect: { type: 'commit-result' }, attempts: 3, dueAt }] as const
    const jobs = ['8', '9'].map((digit) => ({
      ...sampleJob({ id: aJobId(`0x${digit.repeat(64)}`) }),
      phase: 'accepted' as const,
      commitError: 'no gas',
      outbox,
    }))
    for (const job of jobs) await store.save({ kind: 'job', job, base: 0 })
    const { findJob } = store
    const refusal = new SvcError('store-corrupt', 'It cannot be read', { hint: 'Restore it.' })
    store.findJob = (id) => (id === jobs[0]?.id ? Promise.reject(refusal) : findJob(id))
    const { reasons } = await icl.clock.until(icl.api().getReadiness())
    await icl.stop()
    expect(reasons).toContain('results that wait to be committed: 1; last try: no gas')
  })

  it('does not keep the time of others from coming, however many there are', async () => {
    const ids = Array.from(
      { length: 600 },
      (_, index): JobId => aJobId(`0x${index.toString(16).padStart(64, '0')}`),
    )
    const looked = new Set<string>()
    const store: Store = {
      ...createMemoryStore(),
      listDue: async (what, _, limit) => (what === 'tick' ? ids.slice(0, limit) : []),
      findJob: async (id) => {
        looked.add(id)
        throw new Error('corrupt')
      },
    }
    const icl = await createTestIcl({ store })
    await icl.clock.advance(1_500)
    await icl.stop()
    expect(looked.size).toBe(ids.length)
  })
})

it('a store that takes 6 s to list changes is not asked again for everybody who waits at each look', async () => {
  const { b, clock, store, nodes } = await pair()
  const { listChanges, listJobsOfNode } = store
  let reads = 0
  const slow: Pick<Store, 'listChanges' | 'listJobsOfNode'> = {
    listChanges: async (cursor) => {
      await clock.sleep(6_000)
      return listChanges(cursor)
    },
    listJobsOfNode: (node) => {
      reads += 1
      return listJobsOfNode(node)
    },
  }
  Object.assign(store, slow)
  const node = at(b, nodes[0]!)
  const waiting = node.api.getAssignments(
    { params: { address: node.address }, query: { wait: 30 } },
    { timeoutMs: 40_000 },
  )
  expect((await clock.until(waiting)).assignments).toEqual([])
  // When it comes, when it goes, and once because nobody had looked for changes before.
  expect(reads).toBeLessThanOrEqual(3)
})
