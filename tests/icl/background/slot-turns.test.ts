import { expect, it } from 'vitest'
import { createSlotTurns } from '../../../icl/background/slot-turns.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import {
  abortBy,
  claimed,
  nodeA,
  nodeB,
  nodeC,
  sampleJob,
  take,
  tickWith,
} from '../rules/sample-job.ts'

it('a job that comes back to its node lets those go first that wait for their first slot there, for some seconds', async () => {
  const clock = createVirtualClock(0)
  const turns = createSlotTurns(clock, 20_000)
  const first = sampleJob({ members: [nodeA, nodeB, nodeC] })
  const gone = take(claimed(first, nodeA, 0), abortBy(first, nodeA, 'provider-unavailable'), 0)
  const again = take(gone, tickWith([nodeA]), 2_000)
  const yields = () => turns.yields(again, nodeA)
  expect(yields()).toBe(false)
  turns.foundBusy(again, nodeA)
  turns.foundBusy(first, nodeB)
  expect(yields()).toBe(false)
  turns.foundBusy(first, nodeA)
  expect([yields(), turns.yields(first, nodeA)]).toEqual([true, false])
  await clock.advance(1_501)
  expect(yields()).toBe(false)

  const fence = again.assignments.at(-1)!.fence
  const busy = take(again, { type: 'find-busy', node: nodeA, fence }, clock.now())
  turns.foundBusy(first, nodeA)
  expect(turns.yields(busy, nodeA)).toBe(true)
  await clock.advance(10_000)
  turns.foundBusy(first, nodeA)
  expect([turns.yields(busy, nodeA), yields()]).toEqual([false, true])
})
