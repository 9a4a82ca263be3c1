import { describe, expect, it } from 'vitest'
import { defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { isDue } from '../../../icl/rules/outbox.ts'
import { transition } from '../../../icl/rules/transition.ts'
import { newWebhook, webhookRetriesMs } from '../../../icl/rules/webhook.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  accepted,
  claimed,
  decidedJob,
  delivered,
  fenceOf,
  inTurn,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  sampleJob,
  take,
  tickWith,
  verdictBy,
} from './sample-job.ts'

const idsOf = (job: Job) => job.outbox.map(({ id }) => id)

const agreed = decidedJob('x', 'x', 'x')
const [, second, third] = inTurn(agreed) as [Address, Address, Address]

/** A job that has everything but its last verdict. */
const almostAccepted = (): Job => {
  const open = delivered(agreed, 30)
  return take(open, verdictBy(open, second, 'match'), 40)
}
const lastVerdict = (job: Job) => verdictBy(job, third, 'match')

describe('the outbox of a job', () => {
  it('begins with the access of every node, due at once and not yet tried', () => {
    const job = sampleJob({ createdAt: 7 })
    expect(job.outbox).toEqual(
      [nodeA, nodeB, nodeC].map((node, index) => ({
        id: index + 1,
        effect: { type: 'ensure-access', node, fence: index + 1 },
        attempts: 0,
        dueAt: 7,
      })),
    )
    expect(job.nextEffect).toBe(4)
  })

  it('takes what came of several effects as if each had come by itself, and leaves out what is refused', () => {
    const job = sampleJob()
    const news = [
      { type: 'see-access', node: nodeA, fence: 1 },
      { type: 'effect-tried', effectId: 1, tried: { done: true } },
      { type: 'claim', node: nodeB, fence: 99 } as never,
      { type: 'refuse-access', node: nodeC, fence: 3 },
      { type: 'effect-tried', effectId: 3, tried: { done: true } },
      { type: 'effect-tried', effectId: 2, tried: { done: false, error: 'away' } },
    ] as const
    const each = news.filter((one) => one !== news[2])
    const wanted = each.reduce((before, one) => take(before, one, 10), job)
    expect(take(job, { type: 'effects-seen', news }, 10)).toEqual(wanted)
    expect(idsOf(wanted)).toEqual([2])
    expect(take(wanted, { type: 'effects-seen', news: news.slice(0, 2) }, 10)).toBe(wanted)
  })

  it('keeps what is still to be done when more comes, under ids that are never given again', () => {
    const before = almostAccepted()
    const after = take(before, lastVerdict(before), 50)
    expect(after.outbox.slice(0, before.outbox.length)).toEqual(before.outbox)
    const added = after.outbox.slice(before.outbox.length)
    expect(added.map(({ effect }) => effect.type)).toEqual([
      'score-node',
      'score-node',
      'score-node',
      'commit-result',
    ])
    for (const { attempts, dueAt } of added) expect([attempts, dueAt]).toEqual([0, 50])
    expect(idsOf(after)).toEqual(idsOf(after).toSorted((a, b) => a - b))
    expect(new Set(idsOf(after)).size).toBe(after.outbox.length)
    expect(after.nextEffect).toBe(Math.max(...idsOf(after)) + 1)
  })

  it('gives no id again that was delivered and has left it', () => {
    const before = almostAccepted()
    const done: Job = { ...before, outbox: [] }
    const after = take(done, lastVerdict(done), 50)
    expect(Math.min(...idsOf(after))).toBe(before.nextEffect)
  })

  it('gets no more by what is said a second time', () => {
    const before = almostAccepted()
    expect(take(before, verdictBy(before, second, 'match'), 60)).toBe(before)
    const accepted = take(before, lastVerdict(before), 50)
    expect(take(accepted, lastVerdict(accepted), 60)).toBe(accepted)
  })
})

describe('an effect is due', () => {
  const url = 'https://receiver.test/hook'
  const isDueAt = (job: Job, effectId: number, now: number) =>
    isDue(job, job.outbox.find(({ id }) => id === effectId)!, now)

  it('when its wait is over, or longer than any wait of its kind: a clock that was ahead put it off', () => {
    let job: Job = { ...sampleJob({ webhook: newWebhook(url) }), phase: 'cancelled' }
    const notify = { type: 'notify', afterMs: 60_000 } as const
    job = { ...job, outbox: [{ id: 1, effect: notify, attempts: 0, dueAt: 60_000 }] }
    expect([0, 59_999, 60_000].map((now) => isDueAt(job, 1, now))).toEqual([false, false, true])
    for (const waitMs of webhookRetriesMs) {
      const answer = { status: 500 }
      job = take(job, { type: 'webhook-tried', effectId: 1, answer, jitter: 0.99 }, 0)
      expect([0, waitMs, 1.1 * waitMs].map((now) => isDueAt(job, 1, now))).toEqual([
        false,
        false,
        true,
      ])
      expect(isDueAt(job, 1, -Math.max(waitMs, 70_000))).toBe(true)
    }
  })

  it('so a result that an ICL whose clock was a minute ahead tried last', () => {
    let job = accepted(agreed, 0)
    const { id: effectId } = job.outbox.find(({ effect }) => effect.type === 'commit-result')!
    for (let tries = 0; tries < 20; tries++) {
      job = take(job, { type: 'effect-tried', effectId, tried: { done: false, error: 'x' } }, 0)
      expect([isDueAt(job, effectId, 0), isDueAt(job, effectId, 30_000)]).toEqual([false, true])
    }
    expect(isDueAt(job, effectId, -60_000)).toBe(true)
  })
})

describe('a job is looked at again', () => {
  it('when the first of its deadlines comes, at the latest at its own', () => {
    const job = sampleJob()
    expect(job.tickAt).toBe(600_000)
    const fence = fenceOf(job, nodeA)
    const offered = take(job, { type: 'see-access', node: nodeA, fence }, 10)
    expect(offered.tickAt).toBe(10 + defaultJobLimits.offerMs)
    const claim = { type: 'claim', node: nodeA, fence, msPerToken: 1 } as const
    expect(take(offered, claim, 20).tickAt).toBe(20 + defaultJobLimits.leaseMs)
    const waiting = take(sampleJob(), { type: 'find-busy', node: nodeA, fence }, 599_000)
    expect(waiting.tickAt).toBe(600_000)
  })

  it('at once when a seat falls empty, a second later when nobody could take it, never once it has settled', () => {
    let job = claimed(sampleJob(), nodeA, 10)
    const fence = fenceOf(job, nodeA)
    job = take(job, { type: 'abort', node: nodeA, fence, reason: 'provider-unavailable' }, 20)
    expect([job.fillAt, job.tickAt]).toEqual([20, 20])
    job = take(job, tickWith([]), 30)
    expect([job.reason, job.fillAt, job.tickAt]).toEqual(['not-enough-nodes', 1_030, 1_030])
    job = take(job, tickWith([nodeD]), 1_030)
    expect([job.reason, job.fillAt, job.tickAt]).toEqual([undefined, undefined, 600_000])
    const settled = take(job, { type: 'cancel' }, 2_000)
    expect([settled.tickAt, settled.fillAt, settled.settledAt]).toEqual([
      undefined,
      undefined,
      2_000,
    ])
  })

  it('not by what changed nothing: the very same job comes back, so that nothing is saved', () => {
    const job = sampleJob()
    const next = transition(job, { type: 'tick' }, 100, defaultJobLimits)
    expect('job' in next && next.job).toBe(job)
  })
})
