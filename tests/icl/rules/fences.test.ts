import { describe, expect, it } from 'vitest'
import type { NodeCommand } from '../../../icl/rules/commands.ts'
import { isSettled, type Job } from '../../../icl/rules/job.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  abortTurnBy,
  claimed,
  commitBy,
  commitmentTo,
  decidedJob,
  deliverBy,
  delivered,
  fenceOf,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  refusalOf,
  revealBy,
  sampleJob,
  take,
  tickWith,
  verdictBy,
} from './sample-job.ts'

const agreed = decidedJob('x', 'x', 'x')
const open = delivered(agreed, 20)

const commandsAt = (node: Address, fence: number): readonly NodeCommand[] => [
  { type: 'claim', node, fence },
  { type: 'commit', node, fence, commitment: commitmentTo(node, fence, 'x') },
  { ...revealBy(agreed, nodeA, 'x'), node, fence },
  { ...deliverBy(agreed, nodeA), node, fence },
  { ...verdictBy(open, nodeA, 'match'), node, fence },
  { type: 'abort', node, fence, reason: 'node-stopping' },
  { ...abortTurnBy(open, nodeA), node, fence },
]

/** A job whose node A gave its first assignment back and was offered the seat again, under a new fence. */
function returned(): { readonly job: Job; readonly former: number } {
  let job = claimed(sampleJob(), nodeA, 10)
  const former = fenceOf(job, nodeA)
  job = take(job, { type: 'abort', node: nodeA, fence: former, reason: 'node-stopping' }, 20)
  for (let now = 1_000; fenceOf(job, nodeA) === former && now < 20_000; now += 1_000) {
    job = take(job, tickWith([nodeA, nodeB, nodeC]), now)
  }
  return { job: claimed(job, nodeA, 20_000), former }
}

describe('a fence', () => {
  it('of an assignment that the same node had before counts no more, whatever is said with it', () => {
    const { job, former } = returned()
    const current = fenceOf(job, nodeA)
    expect(current).toBeGreaterThan(former)
    for (const command of commandsAt(nodeA, former)) {
      expect([command.type, refusalOf(job, command, 20_100)]).toEqual([command.type, 'stale-fence'])
    }
    expect(take(job, commitBy(job, nodeA, 'x'), 20_100).assignments.at(-1)?.fence).toBe(current)
  })

  it('that was never given is refused, above and below the current one', () => {
    const job = claimed(sampleJob(), nodeB, 10)
    for (const fence of [0, fenceOf(job, nodeB) + 1, 99]) {
      for (const command of commandsAt(nodeB, fence)) {
        expect(refusalOf(job, command, 20)).toBe('stale-fence')
      }
    }
  })

  it('of another node opens nothing', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    for (const command of commandsAt(nodeB, fenceOf(job, nodeA))) {
      expect(refusalOf(job, command, 20)).toBe('stale-fence')
    }
    for (const command of commandsAt(nodeD, fenceOf(job, nodeA))) {
      expect(refusalOf(job, command, 20)).toBe('not-assigned')
    }
  })

  it('is given once, and the next is higher, also after a seat was given up', () => {
    const { job } = returned()
    const fences = job.assignments.map(({ fence }) => fence)
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
    expect(new Set(fences).size).toBe(fences.length)
    expect(job.nextFence).toBe(Math.max(...fences) + 1)
  })
})

describe('what is found out about a node', () => {
  const findings = ['see-access', 'miss-access', 'refuse-access', 'find-busy', 'find-gone'] as const

  it('changes nothing once its seat has another fence', () => {
    const { job } = returned()
    for (const type of findings) {
      expect(take(job, { type, node: nodeA, fence: 1 }, 20_100)).toBe(job)
      expect(take(job, { type, node: nodeD, fence: 1 }, 20_100)).toBe(job)
    }
  })

  it('changes nothing once the assignment is offered or the job has settled', () => {
    const offered = take(sampleJob(), { type: 'see-access', node: nodeA, fence: 1 }, 10)
    for (const type of findings) {
      expect(take(offered, { type, node: nodeA, fence: 1 }, 20)).toBe(offered)
    }
    const cancelled = take(sampleJob(), { type: 'cancel' }, 10)
    expect(isSettled(cancelled.phase)).toBe(true)
    for (const type of findings) {
      expect(take(cancelled, { type, node: nodeA, fence: 1 }, 20)).toBe(cancelled)
    }
  })
})
