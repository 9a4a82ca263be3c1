import { describe, expect, it } from 'vitest'
import {
  abortBy,
  claimed,
  committed,
  decidedJob,
  nodeA,
  nodeB,
  nodeC,
  refusalOf,
  revealed,
  sampleJob,
  scoresOf,
  take,
} from './sample-job.ts'

const cancel = { type: 'cancel' } as const

describe('a client that cancels', () => {
  it('ends the job at once before a node has committed, and no node is scored', () => {
    for (const job of [sampleJob(), claimed(sampleJob(), nodeA, 10)]) {
      const ended = take(job, cancel, 20)
      expect([ended.phase, ended.reason, ended.tickAt, scoresOf(ended)]).toEqual([
        'cancelled',
        'cancelled-by-client',
        undefined,
        {},
      ])
      expect(take(ended, cancel, 30)).toBe(ended)
    }
  })

  it('is refused from the first commitment on, also when its node has left since', () => {
    const one = committed(sampleJob(), [[nodeA, 'x']], 10)
    const all = committed(
      sampleJob(),
      [nodeA, nodeB, nodeC].map((node) => [node, 'x'] as const),
      10,
    )
    const left = take(one, abortBy(one, nodeA), 15)
    for (const job of [
      one,
      left,
      all,
      revealed(all, [[nodeA, 'x']], 20),
      decidedJob('x', 'x', 'x'),
    ])
      expect(refusalOf(job, cancel, 30)).toBe('too-late-to-cancel')
  })

  it('cannot do so once the job has settled', () => {
    const expired = take(sampleJob(), { type: 'tick' }, 600_000)
    expect(refusalOf(expired, cancel, 600_001)).toBe('job-settled')
  })
})
