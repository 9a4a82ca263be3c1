import { describe, expect, it } from 'vitest'
import { assignmentOf, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import { nextStep } from '../../../icl/rules/next-step.ts'
import type { Address, Hash32 } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import type { TeacherScore } from '../../../lib/schemas/teacher.ts'
import {
  accepted,
  decidedJob,
  delivered,
  nodeA,
  nodeB,
  nodeC,
  numbersBy,
  refusalOf,
  scoresOf,
  scoreWith,
  showBy,
  take,
  verdictBy,
  weighBy,
} from './sample-job.ts'

const nodes = [nodeA, nodeB, nodeC] as const
const terms = { needs: { parts: ['teacher' as const] } }
const asked = (a = 'x', b = 'x', c = 'x') => decidedJob(a, b, c, { terms })
const stepsOf = (job: Job) => nodes.map((node) => nextStep(job, assignmentOf(job, node)!).step)
const { revealMs, weighMs } = defaultJobLimits

const shown = (job: Job, by: readonly Address[] = nodes) =>
  by.reduce((next, node) => take(next, showBy(next, node, 'cid'), 20), job)
const weighed = (job: Job, by: readonly Address[] = nodes) =>
  by.reduce((next, node) => take(next, weighBy(next, node), 21), job)

type Scored = (by: Address, of: Address, answer: Hash32) => TeacherScore | undefined
const opened = (job: Job, scored: Scored = (_, __, answer) => scoreWith(answer, 5)) =>
  nodes.reduce(
    (next, node) =>
      take(
        next,
        numbersBy(next, node, (of, answer) => scored(node, of, answer)),
        22,
      ),
    job,
  )

const settledBy = (scored: Scored, job = asked()) =>
  accepted(opened(weighed(shown(job)), scored), 30)

/** An answer of more than a few words that is worded unlike the others. */
async function dissenting(): Promise<Job> {
  const key = new Uint8Array(32).fill(7)
  const evidence = (text: string): Promise<Evidence> =>
    comparators['similar/2'].evidenceOf({ text, prompt: 'Where is it?', key })
  const one = await evidence('A lighthouse warns ships that pass near the coast at night of rocks.')
  const other = await evidence(
    'Sailors use the beam of a lighthouse to find out where they are at sea.',
  )
  const anyTwo = { ...terms, rule: 'any-two' as const }
  return decidedJob(one, one, other, { terms: anyTwo, comparator: 'similar/2' })
}

describe('the weighing of answers', () => {
  it('begins with the agreement, runs along with the delivery, and the job is accepted when both are done', () => {
    const job = asked()
    expect(stepsOf(job)).toEqual(['show', 'show', 'show'])
    const all = shown(job)
    expect(stepsOf(all)).toEqual(['deliver', 'weigh', 'weigh'])
    const checking = delivered(all, 25)
    expect(stepsOf(checking)).toEqual(['weigh', 'check', 'check'])
    const said = [nodeB, nodeC].reduce(
      (next, node) => take(next, verdictBy(next, node, 'match'), 26),
      checking,
    )
    expect([said.phase, ...stepsOf(said)]).toEqual(['running', 'weigh', 'weigh', 'weigh'])
    const open = weighed(said)
    expect(stepsOf(open)).toEqual(['open', 'open', 'open'])
    const over = opened(open)
    expect(over.phase).toBe('accepted')
    expect(take(over, numbersBy(over, nodeA), 23)).toBe(over)
  })

  it('asks nothing of nodes whose job asks for no check', () => {
    const job = decidedJob('x', 'x', 'x')
    expect(stepsOf(job)).toEqual(['deliver', 'wait', 'wait'])
    expect(refusalOf(job, showBy(job, nodeA, 'cid'), 20)).toBe('too-early')
    expect(accepted(job, 20).phase).toBe('accepted')
  })

  it('takes each step once, in order, and only what was committed to', () => {
    const job = asked()
    expect(refusalOf(job, weighBy(job, nodeA), 20)).toBe('too-early')
    const one = take(job, showBy(job, nodeA, 'cid'), 20)
    expect(take(one, showBy(one, nodeA, 'cid'), 20)).toBe(one)
    expect(refusalOf(one, showBy(one, nodeA, 'other'), 20)).toBe('already-answered')
    const half = weighed(shown(job), [nodeA])
    expect(take(half, weighBy(half, nodeA), 21)).toBe(half)
    expect(refusalOf(half, weighBy(half, nodeA, false), 21)).toBe('already-committed')
    expect(refusalOf(half, numbersBy(half, nodeA), 21)).toBe('too-early')
    expect(refusalOf(half, numbersBy(half, nodeB), 21)).toBe('not-committed')
    const open = weighed(half, [nodeB, nodeC])
    const other = numbersBy(open, nodeB)
    if (other.type !== 'open-numbers') throw new TypeError()
    const changed = { ...other.numbers, hash: aHashOf(open) }
    expect(refusalOf(open, { ...other, numbers: changed }, 22)).toBe('commitment-mismatch')
    const impossible = numbersBy(open, nodeA, (_, answer) => ({
      ...scoreWith(answer, 5),
      gap: 1,
    }))
    expect(refusalOf(open, impossible, 22)).toBe('evidence-invalid')
  })

  it('continues without nodes that are silent when a step ends', () => {
    const job = delivered(asked(), 20)
    const two = shown(job, [nodeA, nodeB])
    const late = take(two, { type: 'tick' }, 10 + revealMs)
    expect(stepsOf(late)).toEqual(['weigh', 'check', 'check'])
    expect(refusalOf(late, showBy(late, nodeC, 'cid'), 40_000)).toBe('job-settled')
    const said = [nodeB, nodeC].reduce(
      (next, node) => take(next, verdictBy(next, node, 'match'), 40_001),
      late,
    )
    const alone = take(take(said, weighBy(said, nodeA), 40_002), { type: 'tick' }, 30_010 + weighMs)
    expect(stepsOf(alone)).toEqual(['open', 'wait', 'wait'])
    const over = take(alone, numbersBy(alone, nodeA), 91_000)
    expect(over.phase).toBe('accepted')
    expect(scoresOf(over)).toEqual({
      ...{ a: 'answer-delivered', b: 'answer-agreed never-weighed' },
      c: 'never-shown never-weighed',
    })
  })

  it('is over at once when no node has a text, and waits for no numbers at the deadline', () => {
    const lost = nodes.reduce((next, node) => take(next, showBy(next, node), 20), asked())
    expect(accepted(lost, 30).phase).toBe('accepted')
    const open = accepted(weighed(shown(asked())), 30)
    expect(open.phase).toBe('running')
    const { phase, settledAt } = take(open, { type: 'tick' }, open.deadline + 3_600_000)
    expect([phase, settledAt]).toEqual(['accepted', open.deadline])
  })

  it('costs a node nothing that dissents in a likely answer', async () => {
    const plain = settledBy((_, __, answer) => scoreWith(answer, 5), await dissenting())
    expect(scoresOf(plain)).toEqual({
      ...{ a: 'answer-delivered', b: 'answer-agreed', c: 'answer-likely' },
    })
    const alone: Scored = (by, of, answer) =>
      scoreWith(answer, by === nodeA && of === nodeC ? 400 : 5)
    expect(scoresOf(settledBy(alone, await dissenting())).c).toBe('answer-dissented')
  })

  it('costs a node more than a dissent whose answer is unlikely, also in the agreement', async () => {
    const mean = (of: Address) => (of === nodeC ? 400 : 5)
    const scored: Scored = (_, of, answer) => scoreWith(answer, mean(of))
    expect(scoresOf(settledBy(scored, await dissenting())).c).toBe('answer-unlikely')
    expect(scoresOf(settledBy(scored))).toEqual({
      ...{ a: 'answer-delivered', b: 'answer-agreed', c: 'answer-unlikely' },
    })
  })

  it('scores a node that shows another text as one that shows nothing', () => {
    const scored: Scored = (_, of, answer) => (of === nodeB ? undefined : scoreWith(answer, 5))
    expect(scoresOf(settledBy(scored)).b).toBe('never-shown')
  })

  it('gives a delivered answer no gain whose node showed nothing, or another text', () => {
    const others = [nodeB, nodeC].reduce(
      (next, node) => take(next, showBy(next, node, 'cid'), 20),
      take(asked(), showBy(asked(), nodeA), 20),
    )
    const scored: Scored = (_, of, answer) => (of === nodeA ? undefined : scoreWith(answer, 5))
    const unshown = accepted(opened(weighed(others), scored), 30)
    expect(scoresOf(unshown).a).toBe('never-shown')
    expect(scoresOf(settledBy(scored)).a).toBe('answer-undecided')
  })

  it('waits for numbers until a while after the turn in which a node had to check', () => {
    const job = delivered(shown(asked()), 50_000)
    const late = take(job, { type: 'tick' }, 20 + weighMs + 1)
    expect(stepsOf(late)).toEqual(['weigh', 'check', 'check'])
    const said = [nodeB, nodeC].reduce(
      (next, node) => take(next, verdictBy(next, node, 'match'), 90_000),
      late,
    )
    expect(stepsOf(said)).toEqual(['weigh', 'weigh', 'weigh'])
    const end = 50_000 + defaultJobLimits.checkMs + 20_000
    expect(take(said, { type: 'tick' }, end).phase).toBe('accepted')
  })

  it('finds the node whose numbers are apart from those of both others, and lets its word decide nothing', async () => {
    const lazy: Scored = (by, of, answer) =>
      scoreWith(answer, of === nodeC ? 400 : 5, 40, by === nodeB ? 900 : 0)
    expect(scoresOf(settledBy(lazy, await dissenting()))).toEqual({
      ...{ a: 'answer-delivered', b: 'answer-undecided numbers-odd', c: 'answer-dissented' },
    })
  })
})

const aHashOf = (job: Job): Hash32 => job.assignments[0]!.answer!.hash
