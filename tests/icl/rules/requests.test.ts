import { expect, it } from 'vitest'
import type { Job, MemberState } from '../../../icl/rules/job.ts'
import { isSettled } from '../../../icl/rules/job.ts'
import { causes } from '../../../lib/causes.ts'
import { AbortReason } from '../../../lib/schemas/jobs.ts'
import { abortBy, claimed, nodeAddress, sampleJob, take } from './sample-job.ts'

/** Runs a job at whose nodes each request to the provider fails after a second. Returns how many there were, and when the job ended. */
function requestsOf(names: string, reason: AbortReason) {
  const members = [...names].map(nodeAddress)
  const states = members.map((): MemberState => 'fit')
  let job: Job = sampleJob({ members, terms: { list_length: members.length } })
  let requests = 0
  let now = 0
  while (!isSettled(job.phase)) {
    for (const { node } of job.assignments.filter(({ status }) => status === 'awaiting-grant')) {
      requests += 1
      job = take(claimed(job, node, now), abortBy(job, node, reason), now + 1_000)
    }
    now = Math.max(now + 1_000, job.tickAt ?? 0)
    job = take(job, { type: 'tick', members: states }, now)
  }
  return { requests, endedAfterMs: now, reason: job.reason }
}

const requests = (names: string, reason: AbortReason) => requestsOf(names, reason).requests

it('a job makes at most 9 requests to providers, whatever their cause, 3 when no other node can mend it', () => {
  for (const reason of AbortReason.options) {
    const most = causes[reason].sameAnywhere ? 3 : 9
    expect([reason, requests('abcdef1234567890', reason) <= most]).toEqual([reason, true])
    expect([reason, requests('abc', reason) <= most]).toEqual([reason, true])
  }
})

it('three nodes whose providers fail for some ten seconds, or stall, get a third try, those without time only the first', () => {
  for (const reason of ['provider-unavailable', 'provider-silent'] as const) {
    const passing = requestsOf('abc', reason)
    expect(passing).toMatchObject({ requests: 9, reason: 'attempts-exhausted' })
    expect(passing.endedAfterMs).toBeGreaterThanOrEqual(17_000)
  }
  const tooClose = requestsOf('abc', 'deadline-too-close')
  expect(tooClose).toMatchObject({ requests: 3, reason: 'list-used-up' })
})
