import { expect, it } from 'vitest'
import {
  answered,
  claimed,
  committed,
  nodeA,
  nodeB,
  nodeC,
  refusalOf,
  reveal,
  sampleJob,
  take,
} from './sample-job.ts'

// A receipt must not be of a time for which no session was checked.
it('nothing comes in after the deadline of a job, also while no tick has seen it', () => {
  let job = sampleJob({ deadline: 100_000 })
  for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 50_000)
  for (const node of [nodeB, nodeC]) job = committed(job, node, 'x', 60_000)
  job = answered(job, nodeA, 'x', 99_900)
  job = take(job, reveal(job, nodeB, 'x'), 99_999)
  expect(take(job, reveal(job, nodeC, 'x'), 99_999).phase).toBe('accepted')
  expect(refusalOf(job, reveal(job, nodeC, 'x'), 100_000)).toBe('job-settled')
  expect(take(job, reveal(job, nodeB, 'x'), 100_000)).toBe(job)
  expect(take(job, { type: 'tick' }, 100_000).phase).toBe('expired')
})
