import { describe, expect, it } from 'vitest'
import { currentTurn } from '../../../icl/rules/agreed.ts'
import { assignmentOf, type Job } from '../../../icl/rules/job.ts'
import { nextStep } from '../../../icl/rules/next-step.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  abortTurnBy,
  decidedJob,
  delivered,
  inTurn,
  nodeA,
  nodeB,
  nodeC,
  openBy,
  refusalOf,
  scoresOf,
  take,
  verdictBy,
} from './sample-job.ts'

const terms = { needs: { parts: ['teacher' as const] } }
const asked = () => delivered(decidedJob('x', 'x', 'x', { terms }), 20)
const stepOf = (job: Job, node: Address) => nextStep(job, assignmentOf(job, node)!).step
const said = (job: Job, node: Address) => take(job, verdictBy(job, node, 'match'), 30)

/** A delivered job of which all checkers have said that it matches, and these. */
function opening() {
  const job = asked()
  const [deliverer, first, second] = inTurn(job) as [Address, Address, Address]
  return { job: said(said(job, first), second), deliverer, first, second }
}

describe('numbers of a delivered text', () => {
  it('are opened once all have spoken, and the last settles the job', () => {
    const { job, deliverer, first, second } = opening()
    expect(job.phase).toBe('running')
    expect([deliverer, first, second].map((node) => stepOf(job, node))).toEqual([
      ...['wait', 'open', 'open'],
    ])
    const one = take(job, openBy(job, first), 40)
    expect([stepOf(one, first), stepOf(one, second), one.phase]).toEqual([
      'wait',
      'open',
      'running',
    ])
    expect(take(one, openBy(one, first), 41)).toBe(one)
    const both = take(one, openBy(one, second), 42)
    expect(both.phase).toBe('accepted')
    expect(currentTurn(both)?.opened?.map(({ address }) => address)).toEqual([first, second])
    expect(take(both, openBy(both, first), 43)).toBe(both)
  })

  it('are not opened before all have spoken, and nobody speaks after that', () => {
    const job = asked()
    const [, first, second] = inTurn(job) as [Address, Address, Address]
    expect(refusalOf(job, openBy(job, first), 25)).toBe('not-committed')
    const half = said(job, first)
    expect(refusalOf(half, openBy(half, first), 35)).toBe('too-early')
    const silent = take(half, { type: 'tick' }, 45_020)
    expect(silent.phase).toBe('running')
    expect(refusalOf(silent, verdictBy(silent, second, 'match'), 45_030)).toBe('job-settled')
    expect(take(silent, abortTurnBy(silent, second), 45_030)).toBe(silent)
    expect(take(silent, openBy(silent, first), 45_040).phase).toBe('accepted')
  })

  it('hold the job up for the time to reveal, and cost a node nothing that does not open them', () => {
    const { job, first } = opening()
    const one = take(job, openBy(job, first), 40)
    const over = take(one, { type: 'tick' }, 30_030)
    expect(over.phase).toBe('accepted')
    expect(currentTurn(over)?.opened).toHaveLength(1)
    expect(scoresOf(over)).toEqual(scoresOf(take(one, openBy(one, inTurn(job)[2]!), 41)))
  })

  it('are not waited for at the deadline', () => {
    const { job } = opening()
    const accepted = { phase: 'accepted', reason: 'quorum-agreed' }
    expect(take(job, { type: 'tick' }, job.deadline)).toMatchObject(accepted)
  })

  it('are not waited for past the deadline, however late that is noticed', () => {
    const { job } = opening()
    const { phase, settledAt } = take(job, { type: 'tick' }, job.deadline + 3_600_000)
    expect([phase, settledAt]).toEqual(['accepted', job.deadline])
  })

  it('are those that were committed to, and possible', () => {
    const { job, first } = opening()
    const command = openBy(job, first)
    const other = openBy(job, inTurn(job)[2]!)
    if (command.type !== 'open-check' || other.type !== 'open-check') throw new TypeError()
    const { commitment } = other
    expect(refusalOf(job, { ...command, commitment }, 40)).toBe('commitment-mismatch')
    expect(refusalOf(job, openBy(job, first, 2), 40)).toBe('evidence-invalid')
  })

  it('are not asked for by other jobs, whatever a verdict commits to', () => {
    const job = delivered(decidedJob('x', 'x', 'x'), 20)
    const [, first, second] = inTurn(job) as [Address, Address, Address]
    const bound = (node: Address) => {
      const command = verdictBy(asked(), node, 'match')
      if (command.type !== 'post-verdict') throw new TypeError()
      return command
    }
    const one = take(job, bound(first), 30)
    expect(take(one, bound(second), 31).phase).toBe('accepted')
    expect([nodeA, nodeB, nodeC]).toContain(first)
  })
})
