import { describe, expect, it } from 'vitest'
import { createRecentJobs } from '../../../icl/console/recent-jobs.ts'
import type { Store } from '../../../icl/store/store.ts'
import { aHash, aJobId } from '../../branded.ts'
import { sampleJob } from '../rules/sample-job.ts'
import { createReplica, createShared, type TestIcl } from '../test-icl.ts'

const idAt = (index: number) => aHash(`0x${index.toString(16).padStart(64, '0')}`)
const saveAt = (icl: TestIcl, index: number, createdAt: number) =>
  icl.deps.store.save({
    kind: 'job',
    job: { ...sampleJob({ id: aJobId(idAt(index)), createdAt }), outbox: [] },
    base: 0,
  })

describe('the newest jobs', () => {
  it('give a reader every change once it is there, and none twice, while they are read', async () => {
    const icl = await createReplica(createShared())
    const recent = createRecentJobs(icl.deps)
    await recent.look()
    let known = recent.changeNow()
    const told: string[] = []
    const hear = () => {
      told.push(...recent.since(known).map(({ ref }) => ref))
      known = recent.changeNow()
    }
    for (let index = 0; index < 120; index++) await saveAt(icl, index, icl.clock.now())
    await icl.clock.advance(1_000)
    let isOver = false
    const look = recent.look().finally(() => {
      isOver = true
    })
    while (!isOver) {
      for (let step = 0; step < 100; step++) {
        hear()
        await Promise.resolve()
      }
      await new Promise<void>((resolve) => void setImmediate(resolve))
    }
    await look
    hear()
    expect(told).toHaveLength(120)
    expect(new Set(told).size).toBe(120)
    await icl.stop()
  })

  it('are read again after a loss of saves, also when the first reading fails', async () => {
    const icl = await createReplica(createShared())
    await saveAt(icl, 1, icl.clock.now())
    const lost: (() => void)[] = []
    let listed: Store['listJobs'] = icl.deps.store.listJobs
    const store: Store = {
      ...icl.deps.store,
      commits: { ...icl.deps.store.commits, onLost: (listener) => void lost.push(listener) },
      listJobs: (page) => listed(page),
    }
    const recent = createRecentJobs({ ...icl.deps, store })
    await recent.look()
    expect(recent.all()).toHaveLength(1)
    for (const lose of lost) lose()
    await icl.clock.advance(1_000)
    listed = () => Promise.reject(new Error('away'))
    await expect(recent.look()).rejects.toThrow('away')
    listed = async () => []
    await icl.clock.advance(1_000)
    await recent.look()
    expect(recent.all()).toHaveLength(0)
    await icl.stop()
  })

  it('are whole from the first minute of the hour on, or from when the oldest that was read must have settled', async () => {
    const shared = createShared()
    const icl = await createReplica(shared)
    const hour = icl.clock.now() - 3_660_000
    const few = createRecentJobs(icl.deps)
    await few.look()
    expect(few.wholeSince()).toBe(hour)
    const base = { ...sampleJob({ id: aJobId(idAt(0)) }), outbox: [] }
    const newest = icl.clock.now()
    // 2,000 in twenty pages, a second apart.
    const listJobs: Store['listJobs'] = async ({ before, limit }) => {
      const from = before ? newest - before.at + 1_000 : 0
      return Array.from({ length: limit }, (_, index) => {
        const createdAt = newest - from - index * 1_000
        return { ...base, id: aJobId(idAt((newest - createdAt) / 1_000)), createdAt }
      })
    }
    const many = createRecentJobs({ ...icl.deps, store: { ...shared.store, listJobs } })
    await many.look()
    expect(many.all()).toHaveLength(2_000)
    expect(many.wholeSince()).toBe(newest - 1_999_000 + 600_000)
    await icl.stop()
  })
})
