import { describe, expect, it } from 'vitest'
import { GoesOnError } from '../../../lib/client/inference.ts'
import type { JobEvent } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { isLocalChain } from '../../../web/playground/chains.ts'
import { eventWords, nodeProgress } from '../../../web/playground/node-progress.ts'
import { failureOf } from '../../../web/playground/run-inference.ts'
import { afterNews, newRun, type Run, type RunNews } from '../../../web/playground/run-state.ts'
import { aJobId, anAddress } from '../../branded.ts'

const after = (news: readonly RunNews[], run: Run = newRun()): Run => news.reduce(afterNews, run)
const step = (
  phase: 'start' | 'progress' | 'end',
  elapsedMs: number,
  detail?: string,
): RunNews => ({
  kind: 'step',
  news: { step: 'encrypt-key', phase, elapsedMs, ...(detail !== undefined && { detail }) },
  nowMs: 1_000 + elapsedMs,
})
const stateOf = (run: Run) => run.steps.find((state) => state.step === 'encrypt-key')

const first = `0x${'a'.repeat(40)}` as const
const second = `0x${'b'.repeat(40)}` as const
const event = (seq: number, type: string, more: Partial<JobEvent> = {}): JobEvent => ({
  seq,
  at: seq,
  type,
  phase: 'running',
  ...more,
})

describe('a run as it is shown', () => {
  it('goes through its steps, with the parts of a proof that are over', () => {
    const begun = after([step('start', 0), step('progress', 1, 'prove')])
    expect(begun.preparing).toBeUndefined()
    expect(stateOf(begun)).toMatchObject({
      status: 'running',
      startedAtMs: 1_000,
      details: ['prove'],
    })
    const over = after(
      [step('progress', 7, 'prove: 7.1 s, 19194 bytes'), step('progress', 8, 'verify')],
      begun,
    )
    expect(stateOf(over)?.details).toEqual(['prove: 7.1 s, 19194 bytes', 'verify'])
    expect(stateOf(after([step('end', 9)], over))).toMatchObject({ status: 'done', elapsedMs: 9 })
  })

  it('marks the step in which it failed, and keeps those that were done', () => {
    const failure = { code: 'x', message: 'm', hint: 'h' }
    const failed = after([
      step('start', 0),
      { kind: 'failed', failure, inference: undefined, nowMs: 1_250 },
    ])
    expect(failed).toMatchObject({ status: 'failed', failure })
    expect(stateOf(failed)).toMatchObject({ status: 'failed', elapsedMs: 250 })
    expect(failed.steps.filter(({ status }) => status === 'waiting')).toHaveLength(12)
  })
})

describe('the nodes of a run', () => {
  it('are told by the last thing that each did, the first seat first', () => {
    const rows = nodeProgress([
      event(1, 'submitted'),
      event(2, 'claimed', { node: anAddress(second), role: 'verifier', fence: 1 }),
      event(3, 'claimed', { node: anAddress(first), role: 'leader', fence: 2 }),
      event(4, 'verdict-match', {
        node: anAddress(second),
        role: 'verifier',
        fence: 1,
        detail: 'match',
      }),
    ])
    expect(
      rows.map(({ node, status, verdict, isOver }) => [node, status, verdict, isOver]),
    ).toEqual([
      [second, 'checked the delivery: match', 'match', true],
      [first, 'claimed its assignment', undefined, false],
    ])
  })

  it('are told by the outcome as well, whose last events may not have come', () => {
    const [other, fourth] = [`0x${'c'.repeat(40)}`, `0x${'d'.repeat(40)}`] as const
    const claimed = (seq: number, node: typeof first, role: 'leader' | 'verifier') =>
      event(seq, 'claimed', { node: anAddress(node), role, fence: seq })
    const rows = nodeProgress(
      [
        claimed(1, first, 'leader'),
        claimed(2, second, 'verifier'),
        event(3, 'lapsed', { node: anAddress(second), role: 'verifier', fence: 2 }),
        claimed(4, other, 'verifier'),
        claimed(5, fourth, 'verifier'),
      ],
      {
        deliverer: anAddress(other),
        agreed: { differed: [{ node: anAddress(first), how: 'inconclusive' }] },
        verdicts: [{ node: anAddress(fourth), verdict: 'match' }],
      },
    )
    expect(
      rows.map(({ node, part, status, verdict, isOver }) => [node, part, status, verdict, isOver]),
    ).toEqual([
      [first, 'differs', 'answered differently (inconclusive)', 'no-match', true],
      [second, 'seated', 'was too late', undefined, true],
      [other, 'deliverer', 'delivered its answer', undefined, true],
      [fourth, 'member', 'checked the delivery: match', 'match', true],
    ])
  })

  it('are marked when they joined, and keep the turn that failed beside the later verdict', () => {
    const joiner = `0x${'e'.repeat(40)}` as const
    const of = (seq: number, type: string, node: typeof first, more: Partial<JobEvent> = {}) =>
      event(seq, type, { node: anAddress(node), role: 'verifier', fence: 1, ...more })
    const rows = nodeProgress([
      of(1, 'chosen', second),
      event(2, 'seats-added', { detail: '1 more' }),
      of(3, 'chosen', joiner, { fence: 2 }),
      // The ICL names the deliverer by the role of the first seat.
      of(4, 'to-deliver', second, { role: 'leader' }),
      of(5, 'delivery-failed', second, { role: 'leader', detail: 'answer-lost' }),
      of(6, 'verdict-match', second, { detail: 'match' }),
    ])
    expect(rows.map(({ node, part, joined }) => [node, part, joined])).toEqual([
      [second, 'member', false],
      [joiner, 'seated', true],
    ])
    expect(rows[0]).toMatchObject({ status: 'checked the delivery: match', verdict: 'match' })
    expect(rows[0]?.failedTurn).toMatch(/^its turn to deliver failed: a restart of the node lost/)
    // The stream may end before these events come: the receipt has them.
    const [told] = nodeProgress([of(1, 'chosen', second)], {
      deliverer: anAddress(joiner),
      verdicts: [],
      receipt: {
        answers: [{ body: { address: anAddress(second) }, batch: 1 }],
        failed_deliveries: [{ address: anAddress(second), reason: 'output-refused' }],
      },
    })
    expect(told).toMatchObject({
      joined: true,
      failedTurn: expect.stringMatching(/delivered output/),
    })
  })

  it('show the reason of a verdict, and what has no words of its own as it is named', () => {
    expect(eventWords({ type: 'verdict-no-match', detail: 'different-answer' })).toBe(
      'says: no match (different answer)',
    )
    expect(eventWords({ type: 'something-new' })).toBe('something new')
  })
})

it('what goes wrong comes with its remedy, and is no failure when it was wished for', () => {
  const { signal } = new AbortController()
  const error = new SvcError('not-enough-nodes', 'Not enough nodes', { hint: 'Wait.' })
  expect(failureOf(error, signal)).toEqual({
    code: 'not-enough-nodes',
    message: 'Not enough nodes',
    hint: 'Wait.',
  })
  expect(failureOf(error, AbortSignal.abort()).code).toBe('cancelled')
  const late = new GoesOnError(new Error('enough'), aJobId(`0x${'12'.repeat(32)}`))
  expect(failureOf(late, AbortSignal.abort()).message).toContain('Too late to cancel')
  expect(failureOf(new TypeError('x is not a function'), signal).code).toBe('failed')
})

it('a throw-away key is for local chains on this machine only', () => {
  expect(isLocalChain(31_337, 'http://127.0.0.1:8545')).toBe(true)
  expect(isLocalChain(420_105, 'http://localhost:1')).toBe(true)
  expect(isLocalChain(31_337, 'https://rpc.example')).toBe(false)
  expect(isLocalChain(11_155_111, 'http://127.0.0.1:8545')).toBe(false)
})
