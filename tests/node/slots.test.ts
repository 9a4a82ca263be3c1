import { describe, expect, it } from 'vitest'
import { createSlots, mostUnended } from '../../node/slots.ts'
import { jobId } from './fakes.ts'

describe('the slots of a node', () => {
  it('are none while as many jobs wait for others as it holds, and come back when one ends', async () => {
    const slots = createSlots(2)
    const ends: (() => void)[] = []
    let fence = 0
    // A hostile ICL lets no job end after its commitment.
    while (slots.free() > 0 && fence < 10_000) {
      slots.start({ jobId, fence: ++fence }, (freeSlot) => {
        freeSlot()
        return new Promise((resolve) => ends.push(resolve))
      })
    }
    expect(slots.running()).toHaveLength(mostUnended)
    const [first] = slots.running()
    ends[0]?.()
    await first
    expect(slots.free()).toBe(1)
  })
})
