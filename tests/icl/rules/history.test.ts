import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { defaultJobLimits, type Job, recorded } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import {
  answered,
  claimed,
  committed,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  reveal,
  sampleJob,
  take,
  tickWith,
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
    let job = sampleJob()
    for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 1_500)
    job = committed(committed(job, nodeB, 'x', 2_000), nodeC, 'y', 2_000)
    job = answered(job, nodeA, 'x', 3_000)
    job = take(job, reveal(job, nodeB, 'x'), 4_000)
    job = take(job, reveal(job, nodeC, 'y'), 5_000)
    expect(job.events.map(({ seq }) => seq)).toEqual(job.events.map((_, index) => index + 1))
    expect(job.events.map(({ type, node }) => [type, node?.[2]])).toEqual([
      ['submitted', undefined],
      ...['a', 'b', 'c'].map((node) => ['chosen', node]),
      ...['a', 'b', 'c'].flatMap((node) => [
        ['offered', node],
        ['claimed', node],
      ]),
      ['committed', 'b'],
      ['committed', 'c'],
      ['result-posted', 'a'],
      ['verdict-match', 'b'],
      ['verdict-no-match', 'c'],
      ['verifier-added', undefined],
    ])
    const [, chosen] = job.events
    expect(chosen).toEqual({
      seq: 2,
      at: 0,
      type: 'chosen',
      phase: 'open',
      ...of(nodeA, 'leader', 1),
    })
    const claimOfA = job.events.find(({ type }) => type === 'claimed')
    expect(claimOfA).toMatchObject({ at: 1, phase: 'running', ...of(nodeA, 'leader', 1) })
    expect(job.events.at(-2)).toMatchObject({
      at: 5,
      phase: 'running',
      detail: 'different-answer',
      ...of(nodeC, 'verifier', 3),
    })
    expect(job.events.at(-3)?.detail).toBe('match')
    expect([job.seats, job.fillAt]).toEqual([4, 5_000])
  })

  it('tells why a seat fell empty, and costs a node nothing that could not begin', () => {
    const job = sampleJob()
    const cases = [
      [{ type: 'refuse-access', node: nodeA, fence: 1 }, 'grant-refused'],
      [{ type: 'find-gone', node: nodeA, fence: 1 }, 'node-left'],
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

  it('keeps the last two hundred, and goes on counting', () => {
    let job = sampleJob()
    for (let step = 0; step < 300; step++) job = recorded(job, step, `step-${step}`)
    expect(job.events).toHaveLength(200)
    expect(job.events.at(-1)).toMatchObject({ seq: 304, type: 'step-299' })
    expect(job.events[0]?.seq).toBe(105)
  })

  it('gives each refusal, lapse and new start an effect for its node, and no other', () => {
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
      ['chosen', nodeD, 'leader'],
    ])
  })
})
