import { describe, expect, it } from 'vitest'
import { currentTurn } from '../../../icl/rules/agreed.ts'
import { ageOf, excuse } from '../../../icl/rules/outages.ts'
import {
  abortBy,
  claimed,
  commitBy,
  decidedJob,
  delivered,
  fenceOf,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  sampleJob,
  take,
  tickWith,
} from './sample-job.ts'

const leased = () => claimed(claimed(sampleJob(), nodeA, 10_000), nodeB, 10_000)
const outage = { from: 20_000, until: 110_000 }
const leaseOf = (job: ReturnType<typeof leased>) =>
  job.assignments.find(({ node }) => node === nodeA)?.deadline

describe('an outage of the ICL', () => {
  it('moves the deadlines of a job and of its assignments, and when it is looked at next', () => {
    const before = leased()
    const after = take(before, { type: 'miss-time', outages: [outage] }, 110_000)
    expect([before.deadline, leaseOf(before)]).toEqual([600_000, 130_000])
    expect([after.deadline, leaseOf(after), after.tickAt]).toEqual([690_000, 220_000, 220_000])
    expect(after.events.at(-1)).toMatchObject({ type: 'time-away', at: 110, detail: '90 s' })
  })

  it('counts once, however often it is told of, with those before and after it', () => {
    const first = { from: 1_000, until: 5_000 }
    const once = take(leased(), { type: 'miss-time', outages: [first] }, 5_000)
    const outages = [outage, first]
    const both = take(once, { type: 'miss-time', outages }, 110_000)
    expect(both.deadline).toBe(694_000)
    expect(take(both, { type: 'miss-time', outages }, 120_000)).toBe(both)
    expect(excuse(both, outages)).toBe(both)
    // All at once, as by a replica that hears of both, comes to the same.
    expect(take(leased(), { type: 'miss-time', outages }, 110_000)).toEqual(both)
  })

  it('costs no node an offer or a lease that was nearly over', () => {
    const job = claimed(sampleJob(), nodeA, 10_000)
    const offered = take(job, { type: 'see-access', node: nodeB, fence: fenceOf(job, nodeB) }, 500)
    const late = { from: 20_000, until: 21_000 }
    const after = take(offered, { type: 'miss-time', outages: [late] }, 21_000)
    const woken = take(after, { type: 'tick' }, 35_000)
    expect(woken.assignments.map(({ status }) => status)).toEqual([
      'claimed',
      'offered',
      'awaiting-grant',
    ])
    expect(woken.outbox.map(({ effect }) => effect.type)).not.toContain('score-node')
  })

  it('moves the time to deliver and to check', () => {
    const agreed = decidedJob('x', 'x', 'x')
    const late = { from: 20_000, until: 50_000 }
    const after = take(agreed, { type: 'miss-time', outages: [late] }, 50_000)
    expect([currentTurn(after)?.deadline, after.tickAt]).toEqual([75_010, 75_010])
    expect(take(after, { type: 'tick' }, 75_000).agreement?.turns).toHaveLength(1)
    const open = delivered(agreed, 19_000)
    const long = { from: 60_000, until: 70_000 }
    const moved = excuse(open, [late, long])
    expect(currentTurn(moved)?.deadline).toBe(104_000)
  })

  it('lets a node hand in what it did meanwhile', () => {
    const after = take(leased(), { type: 'miss-time', outages: [outage] }, 110_000)
    expect(take(after, commitBy(after, nodeB, 'x'), 219_999).assignments[1]?.status).toBe(
      'committed',
    )
  })

  it('does not count as time that an answer took: another seat is filled that has time without it', () => {
    const long = { from: 12_000, until: 312_000 }
    let job = take(
      claimed(leased(), nodeC, 10_000),
      { type: 'miss-time', outages: [long] },
      312_000,
    )
    for (const node of [nodeB, nodeC]) job = take(job, commitBy(job, node, 'x'), 316_000)
    job = take(job, abortBy(job, nodeA), 475_000)
    expect(take(job, tickWith([nodeD]), 475_000).assignments).toHaveLength(4)
  })

  it('and all others together move the end of a job by ten minutes at most', () => {
    const latest = 1_200_000
    for (const seconds of [1, 4, 14, 15, 59, 60, 150, 299, 300, 301, 1_000]) {
      for (const pause of [0, 1, 10, 16, 100]) {
        let job = sampleJob()
        let [sum, now] = [0, 0]
        for (let count = 0; count < 400 && now < latest; count++) {
          const from = now + pause * 1000
          const until = from + seconds * 1000
          if (from >= job.deadline) break
          const next = excuse(job, [{ from, until }])
          sum += Math.min(seconds, 300) * 1000
          // The time away is given back in full while there is some left, and no outage brings the end nearer.
          expect(next.deadline).toBeGreaterThanOrEqual(
            Math.max(job.deadline, Math.min(600_000 + sum, latest)),
          )
          expect(next.deadline).toBeLessThanOrEqual(latest)
          job = next
          now = until
        }
      }
    }
  })

  it('costs no node anything, also when the end of the job is moved no more', () => {
    let job = leased()
    for (let from = 13_000; from < 1_140_000; from += 63_000) {
      const until = from + 60_000
      job = take(job, { type: 'miss-time', outages: [{ from, until }] }, until)
      job = take(job, { type: 'tick' }, until)
    }
    expect(job.deadline).toBe(1_200_000)
    // Three seconds of the lease have passed each time.
    expect([job.phase, leaseOf(job)]).toEqual(['running', 1_210_000])
    const ended = take(job, { type: 'tick' }, job.deadline)
    expect(ended).toMatchObject({ phase: 'expired', reason: 'deadline-passed' })
    expect(ended.outbox.map(({ effect }) => effect.type)).not.toContain('score-node')
  })

  it('of more than five minutes lets the job end, and costs no node anything', () => {
    const day = { from: 20_000, until: 86_400_000 }
    const after = take(leased(), { type: 'miss-time', outages: [day] }, day.until)
    expect(after.deadline).toBe(900_000)
    const ended = take(after, { type: 'tick' }, day.until)
    expect(ended).toMatchObject({ phase: 'expired', reason: 'deadline-passed' })
    expect(ended.outbox.map(({ effect }) => effect.type)).not.toContain('score-node')
  })

  it('from before a job came, or after it settled, is nothing to it', () => {
    const job = sampleJob({ createdAt: 110_000 })
    expect(excuse(job, [outage])).toBe(job)
    const cancelled = take(leased(), { type: 'cancel' }, 15_000)
    expect(excuse(cancelled, [outage])).toBe(cancelled)
  })
})

describe('how long a node has been silent', () => {
  it('is the time in which it could have been heard', () => {
    expect(ageOf(15_000, 120_000, [])).toBe(105_000)
    expect(ageOf(15_000, 120_000, [outage])).toBe(15_000)
    expect(ageOf(50_000, 120_000, [outage])).toBe(10_000)
    expect(ageOf(115_000, 120_000, [outage])).toBe(5_000)
  })

  it('leaves out five minutes of a longer outage', () => {
    expect(ageOf(0, 1_000_000, [{ from: 0, until: 900_000 }])).toBe(700_000)
  })

  it('is nothing for a time shortly to come, and unknown for one far off: the clock was set back', () => {
    expect(ageOf(300_000, 0, [])).toBe(0)
    expect(ageOf(300_001, 0, [])).toBe(Number.POSITIVE_INFINITY)
  })
})
