import { expect, it } from 'vitest'
import type { Address } from '../../../lib/codecs.ts'
import {
  decidedJob,
  deliverBy,
  delivered,
  inTurn,
  refusalOf,
  revealBy,
  take,
  verdictBy,
} from './sample-job.ts'

// A receipt must not be of a time for which no session was checked.
it('nothing comes in after the deadline of a job, also while no tick has seen it', () => {
  const agreed = decidedJob('x', 'x', 'x', { deadline: 30_000 })
  const [deliverer, second, third] = inTurn(agreed) as [Address, Address, Address]
  const open = delivered(agreed, 29_900)
  const once = take(open, verdictBy(open, second, 'match'), 29_999)
  const last = verdictBy(once, third, 'match')
  expect(take(once, last, 29_999).phase).toBe('accepted')
  expect(refusalOf(once, last, 30_000)).toBe('job-settled')
  for (const repeat of [
    revealBy(once, third, 'x'),
    deliverBy(once, deliverer),
    verdictBy(once, second, 'match'),
  ]) {
    expect(take(once, repeat, 30_000)).toBe(once)
  }
  expect(take(once, { type: 'tick' }, 30_000).phase).toBe('expired')
})
