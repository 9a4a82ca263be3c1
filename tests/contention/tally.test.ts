import { describe, expect, it } from 'vitest'
import type { Job } from '../../icl/rules/job.ts'
import { claimed, fenceOf, nodeA, nodeB, nodeD, sampleJob, take } from '../icl/rules/sample-job.ts'
import { type Claim, createTally } from './tally.ts'

const job = claimed(sampleJob(), nodeA, 10)
const fence = fenceOf(job, nodeA)
const grant = (change: Partial<Claim> = {}): Claim => ({
  jobId: job.id,
  fence,
  node: nodeA,
  startedAt: 10,
  endedAt: 20,
  outcome: 'granted',
  ...change,
})
const countsOf = (claims: readonly Claim[], document: Job = job) => {
  const tally = createTally()
  for (const claim of claims) tally.add(claim)
  tally.check(document)
  return tally.counts()
}

/** The job after its leader gave the work back and another took it. */
const replaced = (): Job => {
  const left = take(job, { type: 'abort', node: nodeA, fence, reason: 'node-stopping' }, 20)
  const pool = [{ address: nodeD, weight: 1, busy: false }]
  const filled = take(
    left,
    { type: 'wake', fill: { pool, seed: { message: 'm', signature: 's' } } },
    30,
  )
  return claimed(filled, nodeD, 40)
}

describe('the count of contention', () => {
  it('finds nothing wrong with a slot that one node claimed often', () => {
    const claims = [grant(), grant(), grant({ node: nodeB, outcome: 'refused' })]
    expect(countsOf(claims)).toEqual({
      claims: 3,
      granted: 2,
      refused: 1,
      failed: 0,
      leases: 1,
      doubleGrants: 0,
      fenceRegressions: 0,
    })
    const document = replaced()
    const later = grant({
      node: nodeD,
      fence: fenceOf(document, nodeD),
      startedAt: 40,
      endedAt: 50,
    })
    expect(countsOf([grant(), later], document)).toMatchObject({
      leases: 2,
      doubleGrants: 0,
      fenceRegressions: 0,
    })
  })

  it('counts a fence that two nodes were granted', () => {
    expect(countsOf([grant(), grant({ node: nodeB })]).doubleGrants).toBeGreaterThan(0)
  })

  it('counts a grant that somebody saved over', () => {
    expect(countsOf([grant()], sampleJob()).doubleGrants).toBe(1)
    expect(countsOf([grant({ node: nodeB, fence: fenceOf(job, nodeB) })]).doubleGrants).toBe(1)
  })

  it('counts a seat that was given to another before it was free', () => {
    const document = replaced()
    const events = document.events.filter(({ type }) => type !== 'aborted')
    expect(countsOf([], { ...document, events }).doubleGrants).toBe(1)
  })

  it('counts fences that go back', () => {
    const document = replaced()
    const fences = document.slots.map((slot, index) =>
      index === 0 ? { ...slot, fence: 99 } : slot,
    )
    expect(countsOf([], { ...document, slots: fences }).fenceRegressions).toBe(1)
    const later = grant({ node: nodeD, fence: fenceOf(document, nodeD), startedAt: 1, endedAt: 5 })
    expect(countsOf([grant(), later], document).fenceRegressions).toBe(1)
  })
})
