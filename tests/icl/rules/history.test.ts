import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job, recorded } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  abortTurnBy,
  answered,
  claimed,
  decidedJob,
  delivered,
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

/** The effects of a command by their types, and what it adds to the history of the job. */
function outcomeOf(job: Job, command: Command, now = 1_999) {
  const next = transition(job, command, now, defaultJobLimits)
  if ('refused' in next) throw new Error(next.detail)
  return {
    effects: next.effects,
    events: next.job.events.slice(job.events.length),
  }
}

const of = (node: string, role: 'leader' | 'verifier', fence: number) => ({ node, role, fence })

describe('the history of a job', () => {
  it('tells every step with its time, its node and why, numbered from one', () => {
    const three = [
      [nodeA, 'x'],
      [nodeB, 'x'],
      [nodeC, 'y'],
    ] as const
    const terms = { rule: 'any-two', max_answers: 5 } as const
    let job = answered(sampleJob({ terms }), three, 1_500)
    const [first, second] = inTurn(job) as [Address, Address]
    job = take(job, abortTurnBy(job, first), 2_000)
    job = delivered(job, 3_000)
    job = take(job, verdictBy(job, nodeC, 'different-answer'), 4_000)
    job = take(job, verdictBy(job, first, 'match'), 5_000)
    expect(job.events.map(({ seq }) => seq)).toEqual(job.events.map((_, index) => index + 1))
    expect(job.events.map(({ type, node }) => [type, node])).toEqual([
      ['submitted', undefined],
      ...[nodeA, nodeB, nodeC].map((node) => ['chosen', node]),
      ...[nodeA, nodeB, nodeC].flatMap((node) => [
        ['offered', node],
        ['claimed', node],
      ]),
      ...['committed', 'revealed'].flatMap((type) =>
        [nodeA, nodeB, nodeC].map((node) => [type, node]),
      ),
      ['agreed', undefined],
      ['to-deliver', first],
      ['delivery-failed', first],
      ['to-deliver', second],
      ['delivered', second],
      ['verdict-no-match', nodeC],
      ['verdict-match', first],
      ['accepted', undefined],
    ])
    const [, chosen] = job.events
    expect(chosen).toEqual({
      seq: 2,
      at: 0,
      type: 'chosen',
      phase: 'open',
      ...of(nodeA, 'leader', 1),
    })
    const eventOf = (type: string) => job.events.find((event) => event.type === type)
    expect(eventOf('claimed')).toMatchObject({ at: 1, phase: 'running', ...of(nodeA, 'leader', 1) })
    expect(eventOf('agreed')?.detail).toBe('2 of 3 answers match')
    expect(eventOf('delivery-failed')?.detail).toBe('node-failed')
    expect(eventOf('delivered')).toMatchObject({ at: 3, node: second, role: 'verifier' })
    expect(eventOf('verdict-no-match')).toMatchObject({
      at: 4,
      detail: 'different-answer',
      ...of(nodeC, 'verifier', 3),
    })
    expect(eventOf('verdict-match')?.detail).toBe('match')
  })

  it('tells how many seats were added', () => {
    const [event] = decidedJob('x', 'y', 'z').events.slice(-1)
    expect(event).toMatchObject({ type: 'seats-added', detail: '2 more' })
  })

  it('tells why a seat fell empty, and costs a node nothing that could not begin', () => {
    const job = sampleJob()
    const cases = [
      [{ type: 'refuse-access', node: nodeA, fence: 1 }, 'grant-refused'],
      [{ type: 'abort', node: nodeA, fence: 1, reason: 'node-stopping' }, 'node-stopping'],
    ] as const
    for (const [command, detail] of cases) {
      expect(outcomeOf(job, command)).toEqual({
        effects: [],
        events: [
          { seq: 5, at: 1, type: 'aborted', phase: 'open', ...of(nodeA, 'leader', 1), detail },
        ],
      })
    }
  })

  it('tells that a node is waited for, or a grant, once', () => {
    const job = sampleJob()
    const busy = { type: 'find-busy', node: nodeB, fence: 2 } as const
    expect(outcomeOf(job, busy)).toEqual({
      effects: [],
      events: [{ seq: 5, at: 1, type: 'node-busy', phase: 'open', ...of(nodeB, 'verifier', 2) }],
    })
    expect(outcomeOf(take(job, busy, 10), busy)).toEqual({ effects: [], events: [] })
    const missing = { type: 'miss-access', node: nodeB, fence: 2 } as const
    expect(outcomeOf(job, missing)).toEqual({
      effects: [],
      events: [
        { seq: 5, at: 1, type: 'awaiting-grant', phase: 'open', ...of(nodeB, 'verifier', 2) },
      ],
    })
    const waiting = take(job, missing, 10)
    expect(waiting.reason).toBe('awaiting-grant')
    expect(outcomeOf(waiting, missing)).toEqual({ effects: [], events: [] })
  })

  it('keeps the last two hundred, and continues counting', () => {
    let job = sampleJob()
    for (let step = 0; step < 300; step++) job = recorded(job, step, `step-${step}`)
    expect(job.events).toHaveLength(200)
    expect(job.events.at(-1)).toMatchObject({ seq: 304, type: 'step-299' })
    expect(job.events[0]?.seq).toBe(105)
  })

  it('gives each lapse and new start an effect for its node, and no other', () => {
    let job = claimed(sampleJob(), nodeA, 10)
    const lapsed = outcomeOf(job, { type: 'tick' }, 10 + defaultJobLimits.leaseMs)
    expect(lapsed.effects).toEqual([
      { type: 'score-node', node: nodeA, fence: 1, code: 'lease-lapsed' },
    ])
    expect(lapsed.events.map(({ type, detail }) => [type, detail])).toEqual([
      ['lapsed', 'lease-lapsed'],
    ])
    job = take(job, { type: 'tick' }, 10 + defaultJobLimits.leaseMs)
    const filled = outcomeOf(job, tickWith([nodeD]), 130_010)
    expect(filled.effects).toEqual([{ type: 'ensure-access', node: nodeD, fence: 4 }])
    expect(filled.events.map(({ type, node, role }) => [type, node, role])).toEqual([
      ['chosen', nodeD, 'verifier'],
    ])
  })
})
