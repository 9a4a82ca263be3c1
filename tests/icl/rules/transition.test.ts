import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { currentAssignments, defaultJobLimits, type Job } from '../../../icl/rules/job.ts'
import {
  answered,
  claimed,
  commitmentTo,
  committed,
  fenceOf,
  nodeA,
  nodeAddress,
  nodeB,
  nodeC,
  nodeD,
  nodeE,
  refusalOf,
  resultOf,
  reveal,
  sampleJob,
  take,
  tickWith,
  verdictOf,
} from './sample-job.ts'

/** A job in which everybody has claimed and both verifiers have committed. */
const underWay = (answers: { b: string; c: string }): Job => {
  let job = sampleJob()
  for (const node of [nodeA, nodeB, nodeC]) job = claimed(job, node, 10)
  return committed(committed(job, nodeB, answers.b, 20), nodeC, answers.c, 20)
}

const scoresOf = (job: Job): Record<string, string> =>
  Object.fromEntries(
    job.outbox.flatMap(({ effect }) =>
      effect.type === 'score-node' ? [[effect.node.slice(2, 3), effect.code]] : [],
    ),
  )

describe('the usual course of a job', () => {
  it('is accepted when both verifiers match', () => {
    let job = answered(underWay({ b: 'x', c: 'x' }), nodeA, 'x', 30)
    expect(job.phase).toBe('running')
    job = take(job, reveal(job, nodeB, 'x'), 40)
    expect(job.phase).toBe('running')
    job = take(job, reveal(job, nodeC, 'x'), 50)
    expect([job.phase, job.reason, job.tickAt]).toEqual(['accepted', 'quorum-agreed', undefined])
    expect(job.outbox.map(({ effect }) => effect.type)).toContain('commit-result')
    expect(scoresOf(job)).toEqual({
      a: 'result-accepted',
      b: 'verdict-upheld',
      c: 'verdict-upheld',
    })
  })

  it('offers nothing before the chain shows access', () => {
    const job = sampleJob()
    expect(currentAssignments(job).map(({ status }) => status)).toEqual(
      Array(3).fill('awaiting-grant'),
    )
    expect(refusalOf(job, { type: 'claim', node: nodeA, fence: 1 }, 5)).toBe('not-claimed')
    const missing = take(job, { type: 'miss-access', node: nodeA, fence: 1 }, 5)
    expect(missing.reason).toBe('awaiting-grant')
    const seen = take(missing, { type: 'see-access', node: nodeA, fence: 1 }, 6)
    expect(seen.assignments[0]?.status).toBe('offered')
  })

  it('leases a claim and lets it be claimed again by the same node', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    expect(job.assignments[0]?.deadline).toBe(10 + defaultJobLimits.leaseMs)
    expect(take(job, { type: 'claim', node: nodeA, fence: 1 }, 50)).toBe(job)
  })
})

describe('verdicts that do not agree', () => {
  const disagree = () => {
    const job = answered(underWay({ b: 'x', c: 'y' }), nodeA, 'x', 30)
    const once = take(job, reveal(job, nodeB, 'x'), 40)
    return take(once, reveal(once, nodeC, 'y'), 50)
  }

  it('draw one more verifier', () => {
    const job = disagree()
    expect([job.phase, job.seats, job.fillAt]).toEqual(['running', 4, 50])
    const filled = take(job, tickWith([nodeA, nodeB, nodeC, nodeD]), 60)
    expect(currentAssignments(filled).at(-1)).toMatchObject({
      node: nodeD,
      role: 'verifier',
      seat: 3,
    })
    let next = committed(claimed(filled, nodeD, 70), nodeD, 'x', 80)
    expect(next.assignments.at(-1)?.deadline).toBe(80 + defaultJobLimits.revealMs)
    next = take(next, reveal(next, nodeD, 'x'), 90)
    expect([next.phase, scoresOf(next)]).toEqual([
      'accepted',
      {
        a: 'result-accepted',
        b: 'verdict-upheld',
        c: 'verdict-outvoted',
        d: 'verdict-upheld',
      },
    ])
  })

  it('are a dispute when there is nobody left to ask', () => {
    const job = take(disagree(), tickWith([nodeA, nodeB, nodeC]), 60)
    expect([job.phase, job.reason]).toEqual(['disputed', 'quorum-disagreed'])
    expect(job.outbox.map(({ effect }) => effect.type)).not.toContain('commit-result')
  })

  it('are a dispute after five verifiers', () => {
    let job = disagree()
    const spares = [nodeD, nodeE, nodeAddress('f')]
    for (const [index, answer] of ['p', 'q', 'r'].entries()) {
      job = take(job, tickWith([...spares]), 100)
      const node = job.assignments.at(-1)!.node
      job = committed(claimed(job, node, 110), node, `${answer}${index}`, 120)
      job = take(job, reveal(job, node, `${answer}${index}`), 130)
    }
    expect([job.phase, job.reason]).toEqual(['disputed', 'quorum-disagreed'])
  })

  it('wait for a busy node rather than give up', () => {
    const job = take(disagree(), tickWith([], [nodeD]), 60)
    expect([job.phase, job.reason, job.fillAt]).toEqual([
      'running',
      'not-enough-nodes',
      60 + defaultJobLimits.refillMs,
    ])
  })

  it('reject a leader against whom the verifiers agree, and start over without them all', () => {
    const job = answered(underWay({ b: 'y', c: 'y' }), nodeA, 'x', 30)
    const once = take(job, reveal(job, nodeB, 'y'), 40)
    const outvoted = take(once, reveal(once, nodeC, 'y'), 50)
    expect([outvoted.phase, outvoted.round, outvoted.result]).toEqual(['running', 1, undefined])
    expect(scoresOf(outvoted)).toEqual({})
    const few = take(outvoted, tickWith([nodeA, nodeB, nodeC, nodeD, nodeE]), 60)
    expect([few.phase, few.reason]).toEqual(['rejected', 'not-enough-nodes'])
    expect(scoresOf(few)).toEqual({
      a: 'result-rejected',
      b: 'verdict-upheld',
      c: 'verdict-upheld',
    })
    expect(scoresOf(take(outvoted, { type: 'cancel' }, 60))).toEqual({})
    const others = [nodeD, nodeE, nodeAddress('f')]
    const again = take(outvoted, tickWith([nodeA, nodeB, nodeC, ...others]), 60)
    expect(new Set(currentAssignments(again).map(({ node }) => node))).toEqual(new Set(others))
  })

  it('do not reject a leader when the dissenters disagree among themselves', () => {
    const job = answered(underWay({ b: 'y', c: 'z' }), nodeA, 'x', 30)
    const once = take(job, reveal(job, nodeB, 'y'), 40)
    const both = take(once, reveal(once, nodeC, 'z'), 50)
    expect([both.phase, both.seats]).toEqual(['running', 4])
  })

  it('need as many matches as the client asked for', () => {
    let job: Job = { ...underWay({ b: 'x', c: 'x' }), minMatches: 3 }
    job = answered(job, nodeA, 'x', 30)
    job = take(job, reveal(job, nodeB, 'x'), 40)
    job = take(job, reveal(job, nodeC, 'x'), 50)
    expect([job.phase, job.seats]).toEqual(['running', 4])
  })
})

describe('what a verifier may and may not do', () => {
  const withResult = () => answered(underWay({ b: 'x', c: 'x' }), nodeA, 'x', 30)

  it('cannot vote before committing', () => {
    let job = claimed(claimed(sampleJob(), nodeA, 10), nodeB, 10)
    job = answered(job, nodeA, 'x', 30)
    expect(refusalOf(job, reveal(job, nodeB, 'x'), 40)).toBe('not-committed')
  })

  it('cannot commit twice to different evidence', () => {
    const job = underWay({ b: 'x', c: 'x' })
    const fence = fenceOf(job, nodeB)
    const commitment = commitmentTo(nodeB, fence, 'other')
    expect(refusalOf(job, { type: 'commit', node: nodeB, fence, commitment }, 30)).toBe(
      'already-committed',
    )
    const same = commitmentTo(nodeB, fence, 'x')
    expect(take(job, { type: 'commit', node: nodeB, fence, commitment: same }, 30)).toBe(job)
  })

  it('cannot reveal other evidence than it committed to', () => {
    expect(refusalOf(withResult(), reveal(withResult(), nodeB, 'y'), 40)).toBe(
      'commitment-mismatch',
    )
  })

  it('cannot speak of another leader statement', () => {
    const job = withResult()
    const fence = fenceOf(job, nodeB)
    const other = resultOf(nodeA, 1, 'other').hash
    const command: Command = {
      type: 'post-verdict',
      node: nodeB,
      fence,
      verdict: verdictOf(nodeB, fence, 'x', other, 'match'),
      commitment: commitmentTo(nodeB, fence, 'x'),
    }
    expect(refusalOf(job, command, 40)).toBe('statement-mismatch')
  })

  it.each([
    ['match', 'y'],
    ['different-answer', 'x'],
    ['inconclusive', 'x'],
    ['inconclusive', 'y'],
  ] as const)(
    'is replaced and marked when it says %s though its evidence is %s',
    (vote, answer) => {
      const job = answered(underWay({ b: answer, c: 'x' }), nodeA, 'x', 30)
      const fence = fenceOf(job, nodeB)
      const refuted = take(
        job,
        {
          type: 'post-verdict',
          node: nodeB,
          fence,
          verdict: verdictOf(nodeB, fence, answer, job.result!.hash, vote),
          commitment: commitmentTo(nodeB, fence, answer),
        },
        40,
      )
      expect(refuted.assignments[1]).toMatchObject({ status: 'aborted', reason: 'verdict-refuted' })
      expect(scoresOf(refuted)).toEqual({ b: 'verdict-refuted' })
      expect(take(refuted, tickWith([nodeD]), 50).assignments.at(-1)).toMatchObject({
        node: nodeD,
        seat: 1,
      })
    },
  )

  it('may say that the output is missing or another one, whatever its evidence', () => {
    const job = withResult()
    const fence = fenceOf(job, nodeB)
    for (const vote of ['output-unavailable', 'output-mismatch'] as const) {
      const command: Command = {
        type: 'post-verdict',
        node: nodeB,
        fence,
        verdict: verdictOf(nodeB, fence, 'x', job.result!.hash, vote),
        commitment: commitmentTo(nodeB, fence, 'x'),
      }
      expect(take(job, command, 40).assignments[1]).toMatchObject({ status: 'done' })
    }
  })

  it('answers once: the same again is fine, another is not, also after the job settled', () => {
    let job = withResult()
    const first = reveal(job, nodeB, 'x')
    const second = reveal(job, nodeC, 'x')
    job = take(take(job, first, 40), second, 50)
    expect(job.phase).toBe('accepted')
    expect(take(job, first, 60)).toBe(job)
    const fence = fenceOf(job, nodeB)
    const other = verdictOf(nodeB, fence, 'x', job.result!.hash, 'output-unavailable')
    expect(refusalOf(job, { ...first, verdict: other } as Command, 60)).toBe('already-answered')
  })
})

describe('deadlines', () => {
  it('give an unclaimed offer to somebody else after 20 s', () => {
    const offered = take(sampleJob(), { type: 'see-access', node: nodeA, fence: 1 }, 10)
    expect(offered.tickAt).toBe(20_010)
    const next = take(offered, tickWith([nodeD]), 20_010)
    expect(next.assignments[0]).toMatchObject({ status: 'lapsed', reason: 'offer-lapsed' })
    expect(next.assignments.at(-1)).toMatchObject({
      node: nodeD,
      seat: 0,
      role: 'leader',
      fence: 4,
    })
    expect(refusalOf(next, { type: 'claim', node: nodeA, fence: 1 }, 20_020)).toBe('stale-fence')
  })

  it('replace a leader whose lease lapsed and keep what verifiers committed to', () => {
    const job = take(underWay({ b: 'x', c: 'x' }), tickWith([nodeD]), 10 + 120_000)
    expect(job.assignments[0]).toMatchObject({ status: 'lapsed', reason: 'lease-lapsed' })
    expect(job.assignments.slice(1, 3).map(({ status }) => status)).toEqual([
      'committed',
      'committed',
    ])
    const late = resultOf(nodeA, 1, 'x')
    const command: Command = { type: 'post-result', node: nodeA, fence: 1, result: late }
    expect(refusalOf(job, command, 130_020)).toBe('stale-fence')
    const answeredAgain = answered(claimed(job, nodeD, 130_030), nodeD, 'x', 130_040)
    expect(answeredAgain.phase).toBe('running')
  })

  it('start the time to reveal when there is a result, and mark who lets it pass', () => {
    const job = answered(underWay({ b: 'x', c: 'x' }), nodeA, 'x', 30)
    expect(job.tickAt).toBe(30 + 60_000)
    const next = take(job, tickWith([nodeD, nodeE]), 60_030)
    expect(scoresOf(next)).toEqual({ b: 'never-revealed', c: 'never-revealed' })
    expect(currentAssignments(next).map(({ node }) => node)).toHaveLength(3)
  })

  it('expire a job with its reason, and nothing changes it afterwards', () => {
    const waiting = take(sampleJob(), { type: 'miss-access', node: nodeA, fence: 1 }, 5)
    const job = take(waiting, { type: 'tick' }, 600_000)
    expect([job.phase, job.reason]).toEqual(['expired', 'awaiting-grant'])
    expect(refusalOf(job, { type: 'claim', node: nodeA, fence: 1 }, 600_001)).toBe('job-settled')
    expect(take(job, { type: 'tick' }, 700_000)).toBe(job)
  })

  it('end a seat after three attempts', () => {
    let job = sampleJob()
    let now = 0
    for (const spare of [nodeD, nodeE, nodeAddress('f')]) {
      const leader = currentAssignments(job)[0]!
      const { node, fence } = leader
      job = take(job, { type: 'abort', node, fence, reason: 'node-failed' }, ++now)
      job = take(job, tickWith([spare]), ++now)
    }
    expect([job.phase, job.reason]).toEqual(['expired', 'attempts-exhausted'])
  })
})

describe('giving an assignment back', () => {
  it('lets the same node return when nobody else is left and the reason may pass', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    const abort: Command = {
      type: 'abort',
      node: nodeA,
      fence: 1,
      reason: 'provider-rate-limited',
    }
    const aborted = take(job, abort, 20)
    expect(take(aborted, abort, 21)).toBe(aborted)
    const soon = take(aborted, tickWith([nodeA]), 30)
    expect(currentAssignments(soon)[0]?.status).toBe('aborted')
    const later = take(soon, tickWith([nodeA]), 3_000)
    expect(currentAssignments(later)[0]).toMatchObject({ node: nodeA, fence: 4, attempt: 2 })
  })

  it('does not let it return for a reason that stays', () => {
    const job = claimed(sampleJob(), nodeA, 10)
    const reason = 'provider-key-refused'
    const aborted = take(job, { type: 'abort', node: nodeA, fence: 1, reason }, 20)
    const later = take(aborted, tickWith([nodeA]), 10_000)
    expect([currentAssignments(later)[0]?.status, later.reason]).toEqual([
      'aborted',
      'not-enough-nodes',
    ])
  })
})

describe('a verifier that has seen the result', () => {
  const seen = () => answered(underWay({ b: 'junk', c: 'x' }), nodeA, 'x', 30)

  it('cannot get out of its commitment by giving back, nor return to copy', () => {
    const fence = fenceOf(seen(), nodeB)
    const reason = 'provider-rate-limited'
    const left = take(seen(), { type: 'abort', node: nodeB, fence, reason }, 40)
    expect(left.assignments[1]).toMatchObject({ status: 'lapsed', reason: 'never-revealed' })
    expect(scoresOf(left)).toEqual({ b: 'never-revealed' })
    const alone = take(left, tickWith([nodeA, nodeB, nodeC]), 60_000)
    expect(currentAssignments(alone)[1]).toMatchObject({ node: nodeB, fence, status: 'lapsed' })
    expect(alone.reason).toBe('not-enough-nodes')
  })

  it('may return, and has to commit anew, when it had given back before there was a result', () => {
    const job = underWay({ b: 'junk', c: 'x' })
    const first = fenceOf(job, nodeB)
    const reason = 'node-stopping'
    const left = take(job, { type: 'abort', node: nodeB, fence: first, reason }, 25)
    const later = take(answered(left, nodeA, 'x', 30), tickWith([nodeB]), 60_000)
    const again = currentAssignments(later)[1]!
    expect(again).toMatchObject({ node: nodeB, status: 'awaiting-grant' })
    expect([again.fence > first, again.commitment]).toEqual([true, undefined])
    expect(
      refusalOf(later, reveal({ ...later, assignments: later.assignments }, nodeB, 'junk'), 60_001),
    ).toBe('not-committed')
  })
})

it('a seat whose node the chain refuses goes to another', () => {
  const job = sampleJob()
  const refused = take(job, { type: 'refuse-access', node: nodeA, fence: 1 }, 5)
  expect(refused.assignments[0]).toMatchObject({ status: 'aborted', reason: 'grant-refused' })
  expect(take(refused, tickWith([nodeD]), 6).assignments.at(-1)).toMatchObject({
    node: nodeD,
    seat: 0,
  })
})

it('every verifier is seen to when there is a result, also one that still waits for a grant', () => {
  let job = claimed(claimed(sampleJob(), nodeA, 10), nodeB, 10)
  job = answered({ ...job, outbox: [] }, nodeA, 'x', 30)
  expect(job.outbox.map(({ effect }) => effect)).toEqual([
    { type: 'ensure-access', node: nodeB, fence: 2 },
    { type: 'ensure-access', node: nodeC, fence: 3 },
  ])
})

it('a stranger has no part, and a wrong role is refused', () => {
  const job = claimed(claimed(sampleJob(), nodeA, 10), nodeB, 10)
  expect(refusalOf(job, { type: 'claim', node: nodeE, fence: 1 }, 20)).toBe('not-assigned')
  const commitment = commitmentTo(nodeA, 1, 'x')
  expect(refusalOf(job, { type: 'commit', node: nodeA, fence: 1, commitment }, 20)).toBe(
    'wrong-role',
  )
  const result = resultOf(nodeB, 2, 'x')
  expect(refusalOf(job, { type: 'post-result', node: nodeB, fence: 2, result }, 20)).toBe(
    'wrong-role',
  )
})

it('a client may cancel until the job has settled', () => {
  const cancelled = take(sampleJob(), { type: 'cancel' }, 10)
  expect([cancelled.phase, cancelled.tickAt]).toEqual(['cancelled', undefined])
  expect(take(cancelled, { type: 'cancel' }, 20)).toBe(cancelled)
  const expired = take(sampleJob(), { type: 'tick' }, 600_000)
  expect(refusalOf(expired, { type: 'cancel' }, 600_001)).toBe('job-settled')
})
