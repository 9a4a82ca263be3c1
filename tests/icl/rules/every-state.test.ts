import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { currentSlots, defaultJobLimits, isSettled, type Job } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import {
  candidates,
  commitmentTo,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  resultOf,
  reveal,
  sampleJob,
  seed,
} from './sample-job.ts'

// Walks every reachable state of a small world rather than sampling it.
describe('in every reachable state', () => {
  it('the promises of a job hold', () => {
    const limits = { ...defaultJobLimits, maxAttempts: 2, maxVerifiers: 3 }
    const nodes = [nodeA, nodeB, nodeC, nodeD]
    const answers = ['x', 'y']
    const commandsFor = (job: Job): Command[] => [
      { type: 'wake', fill: { pool: candidates(...nodes), seed } },
      ...currentSlots(job).flatMap((slot): Command[] => {
        const { node, fence } = slot
        const open = job.result
        return [
          { type: 'see-access', node, fence },
          { type: 'claim', node, fence },
          { type: 'abort', node, fence, reason: 'provider-refused' },
          ...answers.flatMap((answer): Command[] => [
            { type: 'commit', node, fence, commitment: commitmentTo(node, fence, answer) },
            { type: 'post-result', node, fence, result: resultOf(node, fence, answer) },
            ...(open ? [reveal(job, node, answer)] : []),
          ]),
        ]
      }),
    ]
    const keyOf = ({ events: _, outbox: __, nextEffect: ___, draws: ____, ...job }: Job) =>
      JSON.stringify(job, (_key, value) => (typeof value === 'bigint' ? `${value}` : value))

    const phases = new Map<string, number>()
    const seen = new Set<string>()
    const queue: Job[] = [sampleJob({ deadline: 1_000 })]
    while (queue.length > 0) {
      const job = queue.pop()!
      const key = keyOf(job)
      if (seen.has(key)) continue
      seen.add(key)
      phases.set(job.phase, (phases.get(job.phase) ?? 0) + 1)
      expect(isSettled(job.phase)).toBe(job.wakeAt === undefined)
      for (const command of commandsFor(job)) {
        // Time only moves to the deadline: nothing else in this world is due before it.
        for (const now of command.type === 'wake' ? [0, 1_000] : [0]) {
          const next = transition(job, command, now, limits)
          if ('refused' in next) continue
          checkStep(job, next.job)
          if (next.job !== job) queue.push({ ...next.job, outbox: [], events: [] })
        }
      }
    }
    expect(seen.size).toBeGreaterThan(2_000)
    expect(new Set(phases.keys())).toEqual(
      new Set(['accepted', 'disputed', 'expired', 'open', 'rejected', 'running', 'verifying']),
    )
  })
})

function checkStep(before: Job, after: Job): void {
  expect(after.nextFence).toBeGreaterThanOrEqual(before.nextFence)
  if (isSettled(before.phase)) expect(after.phase).toBe(before.phase)
  const fences = after.slots.map(({ fence }) => fence)
  expect(new Set(fences).size).toBe(fences.length)
  for (let seat = 0; seat < after.seats; seat++) {
    const live = after.slots.filter(
      (slot) =>
        slot.round === after.round &&
        slot.seat === seat &&
        slot.status !== 'aborted' &&
        slot.status !== 'lapsed',
    )
    expect(live.length).toBeLessThanOrEqual(1)
  }
  const held = after.slots.filter(({ round }) => round === after.round).map(({ node }) => node)
  expect(new Set(held).size).toBe(held.length)
  const commits = after.outbox.filter(({ effect }) => effect.type === 'commit-result')
  if (before.phase !== 'accepted' && after.phase === 'accepted') {
    expect(commits).toHaveLength(1)
    const leader = after.result!.body.address
    const matches = currentSlots(after).filter(
      ({ verdict, node }) => verdict?.body.verdict === 'match' && node !== leader,
    )
    expect(matches.length).toBeGreaterThanOrEqual(2)
    for (const { verdict } of matches) {
      expect(verdict!.body.evidence).toEqual(after.result!.body.evidence)
    }
  } else {
    expect(commits).toHaveLength(0)
  }
}
