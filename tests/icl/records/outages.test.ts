import { describe, expect, it } from 'vitest'
import { createOutages } from '../../../icl/records/outages.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import type { Store } from '../../../icl/store/store.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

const nothing = () => {}
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

describe('a replica that freezes while it says that it is there', () => {
  for (const frozenMs of [5_000, 100_000]) {
    it(`knows of ${frozenMs} ms before it does anything else`, async () => {
      const clock = createVirtualClock()
      const real = createMemoryStore()
      let gate: Promise<void> | undefined
      const save: Store['save'] = async (write) => {
        await gate
        return real.save(write)
      }
      const outages = createOutages({ store: { ...real, save }, clock, log })
      const ended = new AbortController()
      void outages.keep(ended.signal)
      await clock.advance(10_500)
      expect(await outages.all()).toEqual([])
      const thaw = Promise.withResolvers<void>()
      gate = thaw.promise
      await clock.advance(1_000)
      const from = clock.now() - 500
      await clock.jump(frozenMs)
      const found = outages.all()
      thaw.resolve()
      expect(await clock.until(found)).toEqual([{ from, until: clock.now() }])
      await clock.advance(60_000)
      expect(await outages.all()).toHaveLength(1)
      ended.abort()
    })
  }
})
