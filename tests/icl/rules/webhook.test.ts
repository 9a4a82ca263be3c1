import { describe, expect, it } from 'vitest'
import type { PendingEffect } from '../../../icl/rules/effects.ts'
import {
  afterTry,
  newWebhook,
  noticesOf,
  type Webhook,
  webhookRetriesMs,
  withNoticeDue,
} from '../../../icl/rules/webhook.ts'
import type { JobPhase, WebhookError } from '../../../lib/schemas/jobs.ts'
import { accepted, decidedJob, sampleJob, take } from './sample-job.ts'

const url = 'https://receiver.test/hook'
const hook = newWebhook(url)

/** Tries a webhook with the same answer until no other try is asked for. */
function tryOn(answer: { status?: number; error?: WebhookError }) {
  const waits: number[] = []
  let webhook: Webhook = hook
  for (;;) {
    const after = afterTry(webhook, answer)
    webhook = after.webhook
    if (after.retryMs === undefined) return { webhook, waits }
    expect(webhook.state).toBe('waiting')
    waits.push(after.retryMs)
  }
}

describe('a webhook', () => {
  it('is delivered by any status that begins with 2', () => {
    for (const status of [200, 201, 202, 204, 299]) {
      const { webhook, waits } = tryOn({ status })
      expect(webhook).toEqual({ url, state: 'delivered', attempts: 1, lastStatus: status })
      expect(waits).toEqual([])
    }
  })

  it('ends when its receiver says that it is gone', () => {
    expect(tryOn({ status: 410 }).webhook).toMatchObject({ state: 'gone', attempts: 1 })
  })

  it('is tried nine times in nearly a day whatever else comes of it, then given up', () => {
    const others = [100, 199, 300, 301, 302, 307, 400, 401, 404, 409, 429, 500, 502, 503, 599]
    const errors: WebhookError[] = ['address-refused', 'unreachable', 'tls-failed', 'timeout']
    for (const answer of [
      ...others.map((status) => ({ status })),
      ...errors.map((error) => ({ error })),
    ]) {
      const { webhook, waits } = tryOn(answer)
      expect([webhook.state, webhook.attempts]).toEqual(['given-up', 9])
      expect([webhook.lastStatus, webhook.lastError]).toEqual([
        'status' in answer ? answer.status : undefined,
        'error' in answer ? answer.error : undefined,
      ])
      expect(waits).toEqual([...webhookRetriesMs])
    }
    const hours = webhookRetriesMs.reduce((sum, ms) => sum + ms, 0) / 3_600_000
    expect(hours).toBeGreaterThan(23)
    expect(hours).toBeLessThan(24)
    expect(webhookRetriesMs).toEqual(webhookRetriesMs.toSorted((a, b) => a - b))
  })

  it('forgets what an earlier try failed with', () => {
    const failed = afterTry(hook, { error: 'timeout' }).webhook
    expect(afterTry(failed, { status: 204 }).webhook).toEqual({
      url,
      state: 'delivered',
      attempts: 2,
      lastStatus: 204,
    })
  })
})

describe('the message that a job has settled', () => {
  it('is asked for in every settled phase, and only where the client wants it', () => {
    const phases: JobPhase[] = ['accepted', 'disputed', 'expired', 'cancelled']
    for (const phase of phases) {
      expect(noticesOf({ ...sampleJob(), phase })).toEqual([])
      const [notice, ...others] = noticesOf({ ...sampleJob({ webhook: hook }), phase })
      expect(notice).toMatchObject({ type: 'notify' })
      expect(others).toEqual([])
    }
  })

  it('waits a minute for the transaction of an accepted job, and for nothing else', () => {
    const agreed = decidedJob('x', 'x', 'x', { webhook: hook })
    const expired = take(agreed, { type: 'tick' }, agreed.deadline)
    const job = accepted(agreed, 5)
    const dueOf = ({ outbox }: typeof job) =>
      outbox.flatMap(({ effect, dueAt }) => (effect.type === 'notify' ? [dueAt] : []))
    expect(job.phase).toBe('accepted')
    expect(dueOf(job)).toEqual([60_005])
    expect(dueOf(expired)).toEqual([agreed.deadline])
  })

  it('is due at once when the transaction is there, unless it was tried before', () => {
    const notify = { type: 'notify', afterMs: 60_000 } as const
    const pending = { id: 1, effect: notify, attempts: 0, dueAt: 60_005 }
    const others = [
      { ...pending, id: 2, attempts: 1 },
      { ...pending, id: 3, effect: { type: 'commit' } },
    ] as unknown as readonly PendingEffect[]
    expect(withNoticeDue([pending, ...others], 70)).toEqual([{ ...pending, dueAt: 70 }, ...others])
    expect(withNoticeDue([pending], 70_000)).toEqual([pending])
  })

  it('keeps nothing of a try but what came of it', () => {
    expect(Object.keys(afterTry(hook, { status: 500 }).webhook)).not.toContain('lastError')
    expect(Object.keys(afterTry(hook, { error: 'timeout' }).webhook)).not.toContain('lastStatus')
  })
})
