import { describe, expect, it } from 'vitest'
import type { Job, Slot } from '../../icl/rules/job.ts'
import type { Address } from '../../lib/codecs.ts'
import {
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  resultOf,
  sampleJob,
  verdictOf,
} from '../icl/rules/sample-job.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { createDice } from './dice.ts'
import { createExchangeCheck } from './exchanges.ts'
import type { Exchange } from './network.ts'
import { whyNotAccepted, whyNotOnChain } from './oracle.ts'
import { createStory } from './story.ts'
import { createWatchedStore } from './watched-store.ts'

const result = resultOf(nodeA, 1, 'x')
type Vote = Parameters<typeof verdictOf>[4]

/** A job of A that B and C voted on, with what a test changes. */
function votedOn(votes: readonly [answer: string, vote: Vote][], changes: Partial<Job> = {}): Job {
  const { slots, ...job } = sampleJob()
  const voted = slots.map((slot, index): Slot => {
    const said = votes[index - 1]
    const verdict = said && verdictOf(slot.node, slot.fence, said[0], result.hash, said[1])
    return { ...slot, status: 'done', ...(verdict && { verdict }) }
  })
  return { ...job, phase: 'accepted', slots: voted, result, ...changes }
}

const agreed = votedOn([
  ['x', 'match'],
  ['x', 'match'],
])
const slotsWith = (index: number, change: Partial<Slot>, { slots }: Job = agreed) =>
  slots.map((slot, at) => (at === index ? { ...slot, ...change } : slot))

describe('an acceptance', () => {
  it('of two who agree is one', () => {
    expect(whyNotAccepted(agreed)).toEqual([])
  })

  it.each([
    [
      'with one match of two',
      votedOn([
        ['x', 'match'],
        ['y', 'different-answer'],
      ]),
    ],
    [
      'with one match that nobody contradicts',
      votedOn([
        ['x', 'match'],
        ['y', 'inconclusive'],
      ]),
    ],
    ['by votes that nobody gave', votedOn([])],
    [
      'by a match on another answer',
      votedOn([
        ['x', 'match'],
        ['y', 'match'],
      ]),
    ],
    ['without a result', { ...agreed, result: undefined }],
    ['before all have answered', { ...agreed, slots: slotsWith(2, { status: 'committed' }) }],
    ['by a leader that verifies', { ...agreed, slots: slotsWith(2, { node: nodeA }) }],
    ['by its client', { ...agreed, slots: slotsWith(1, { node: agreed.client }) }],
  ])('%s is none', (_, job) => {
    expect(whyNotAccepted(job)).not.toEqual([])
  })
})

describe('a result on chain', () => {
  const receiptHash = `0x${'7'.repeat(64)}` as const
  const job: Job = { ...agreed, receiptHash }
  const on = {
    ...{ jobId: job.id, receiptHash, outputCidHash: receiptHash, matches: 2, noMatches: 0 },
    ...{ leader: nodeA, verifiers: [nodeB, nodeC] },
  }
  const wrongs = (changes: Partial<typeof on>, of: Job = job) =>
    whyNotOnChain({ ...on, ...changes }, of)

  it('is that of its job, by its leader and verifiers', () => {
    expect(wrongs({})).toEqual([])
    expect(wrongs({ receiptHash: `0x${'8'.repeat(64)}` })).not.toEqual([])
    expect(wrongs({ leader: nodeB })).not.toEqual([])
    expect(wrongs({ verifiers: [nodeA, nodeB] })).not.toEqual([])
    expect(wrongs({ verifiers: [nodeB] })).not.toEqual([])
    expect(wrongs({}, { ...job, phase: 'verifying' })).not.toEqual([])
    expect(whyNotOnChain(on, undefined)).not.toEqual([])
  })
})

describe('a save that breaks a promise', () => {
  const open = sampleJob()
  const seatTwice = { ...open.slots[1], fence: 9, node: nodeAddress('d') } as Slot

  it.each<[string, Job, Partial<Job>]>([
    ['came back', { ...agreed, wakeAt: 1 }, { phase: 'running' }],
    ['came back', agreed, { phase: 'rejected' }],
    ['a fence went back', open, { nextFence: 1 }],
    ['a fence changed its node', open, { slots: slotsWith(1, { node: seatTwice.node }, open) }],
    ['one fence was given out twice', open, { slots: slotsWith(1, { fence: 1 }, open) }],
    ['a slot lost what it had', agreed, { slots: slotsWith(1, { status: 'claimed' }) }],
    ['a slot lost what it had', agreed, { slots: agreed.slots.slice(1) }],
    ['an effect was lost', { ...open, nextEffect: 5 }, { nextEffect: 4 }],
    ['a result was lost', { ...agreed, phase: 'verifying', wakeAt: 1 }, { result: undefined }],
    ['two nodes hold one seat', open, { slots: [...open.slots, seatTwice] }],
    ['nothing wakes it', { ...open, wakeAt: 1 }, { wakeAt: undefined }],
  ])('is noted: %s', async (what, before, changes) => {
    const clock = createVirtualClock()
    const store = createWatchedStore(clock, createDice(1))
    await clock.until(store.save({ kind: 'job', job: before, base: 0 }))
    expect(store.broken).toEqual([])
    await clock.until(store.save({ kind: 'job', job: { ...before, ...changes }, base: 1 }))
    expect(store.broken.join()).toContain(what)
  })

  it('is noted: more offers than a node takes, unless a frozen replica goes on', async () => {
    const offered = { ...open, slots: slotsWith(1, { status: 'offered' }, open) }
    for (const isThawing of [false, true]) {
      const clock = createVirtualClock()
      const store = createWatchedStore(clock, createDice(1))
      store.isThawing = () => isThawing
      await clock.until(store.save({ kind: 'job', job: open, base: 0 }))
      await clock.until(store.save({ kind: 'job', job: offered, base: 1 }))
      expect(store.broken.some((what) => what.endsWith('more than it takes'))).toBe(!isThawing)
    }
  })
})

describe('an answer that breaks a promise', () => {
  const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
  const signed = (created: number, nonce?: string) =>
    new Headers({
      'signature-input': `s=("@method");created=${created};keyid="erc8128:1:0xaa"${nonce ? `;nonce="${nonce}"` : ''}`,
    })
  const ok = (path: string, body: unknown, changes: Partial<Exchange> = {}): Exchange => ({
    ...{ caller: 'one', replica: 'r1', method: 'POST', path, arrivedAt: 0 },
    sent: { headers: new Headers(), body: bytes({}) },
    answer: { status: 200, headers: new Headers(), body: bytes(body) },
    ...changes,
  })
  const failed = (status: number, type: string, body: unknown) =>
    ok(
      '/a',
      {},
      {
        answer: { status, headers: new Headers({ 'content-type': type }), body: bytes(body) },
      },
    )
  const problem = (status: number) => ({
    ...{ type: 'about:blank', title: 'No', status, code: 'no', retryable: false },
  })
  const job = sampleJob()
  const task = `/internal/task/${job.id}`
  const violations = (caller: Address, ...exchanges: readonly Exchange[]) => {
    const story = createStory(() => 0)
    const jobs = new Map([[job.id as string, job]])
    const check = createExchangeCheck({ story, jobs, addressOf: () => caller, errors: [] })
    for (const exchange of exchanges) check(exchange)
    return story.violations.join()
  }
  const withNonce = (arrivedAt: number, nonce = 'n') =>
    ok('/a', {}, { arrivedAt, sent: { headers: signed(0, nonce), body: bytes({}) } })

  it.each<[string, readonly Exchange[], readonly Exchange[]]>([
    ['accepted twice', [withNonce(0), withNonce(0)], [withNonce(0), withNonce(0, 'other')]],
    ['counted after 300 s', [withNonce(310_000)], [withNonce(299_000)]],
    [
      'without a nonce counted after 60 s',
      [ok('/a', {}, { arrivedAt: 70_000, sent: { headers: signed(0), body: bytes({}) } })],
      [ok('/a', {}, { arrivedAt: 50_000, sent: { headers: signed(0), body: bytes({}) } })],
    ],
    ["saw the leader's statement", [ok(task, { leader_statement: {} })], [ok(task, {})]],
    [
      'got the handles',
      [ok('/internal/task/claim', { jobId: job.id, fence: 1 })],
      [ok('/internal/task/claim', { jobId: job.id, fence: 2 })],
    ],
    [
      'answered 500',
      [failed(500, 'application/problem+json', problem(500))],
      [failed(503, 'application/problem+json', problem(503))],
    ],
    [
      'without a problem',
      [failed(404, 'application/problem+json', {})],
      [failed(404, 'application/problem+json', problem(404))],
    ],
    [
      'as text/html',
      [failed(404, 'text/html', problem(404))],
      [failed(404, 'application/problem+json', problem(404))],
    ],
  ])('is noted: %s', (what, wrong, right) => {
    expect(violations(nodeB, ...wrong)).toContain(what)
    expect(violations(nodeB, ...right)).toBe('')
  })
})
