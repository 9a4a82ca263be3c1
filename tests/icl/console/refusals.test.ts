import { expect, it } from 'vitest'
import { createRefusals } from '../../../icl/console/refusals.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

it('counts for an hour what was refused for load, limits or want of nodes, and no mistakes of callers', async () => {
  const clock = createVirtualClock()
  const refusals = createRefusals(clock)
  refusals.note('rate-limited')
  await clock.advance(30 * 60_000)
  refusals.note('rate-limited')
  refusals.note('not-enough-nodes')
  refusals.note('invalid-request')
  refusals.note('signature-invalid')
  expect(refusals.counts()).toEqual({ 'rate-limited': 2, 'not-enough-nodes': 1 })
  await clock.advance(30 * 60_000)
  expect(refusals.counts()).toEqual({ 'rate-limited': 1, 'not-enough-nodes': 1 })
  await clock.advance(30 * 60_000)
  expect(refusals.counts()).toEqual({})
})
