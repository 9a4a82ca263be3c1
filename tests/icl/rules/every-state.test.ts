import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import { assignmentOf, isSettled, type Job, type JobLimits } from '../../../icl/rules/job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import { newWebhook } from '../../../icl/rules/webhook.ts'
import type { Address } from '../../../lib/codecs.ts'
import { checkRunningNews, createOutboxWalk } from './effect-news.ts'
import { checkEnd, checkNoted, checkShown, checkStep } from './promises.ts'
import {
  abortBy,
  abortTurnBy,
  answered,
  claimed,
  commitBy,
  committed,
  deliverBy,
  keyOfNode,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  numbersBy,
  revealBy,
  sampleJob,
  showBy,
  signedWith,
  tickWith,
  verdictBy,
  weighBy,
} from './sample-job.ts'

/** When a step is done in time, when its time is over, and when the job's is. */
const [inTime, late, deadline] = [0, 5_000, 10_000] as const
const limits: JobLimits = {
  offerMs: 100,
  leaseMs: 100,
  longestLeaseMs: 100,
  revealMs: 100,
  deliverMs: 100,
  checkMs: 100,
  weighMs: 100,
  refillMs: 100,
  slotWaitMs: 100,
  maxAttempts: 2,
  maxJobsPerClient: 1,
}

/** All that nodes, the client, the chain and the clock can do to a job, whether it may be done or not. */
const commandsFor = (
  job: Job,
  loyal: readonly Address[],
): readonly (readonly [Command, number])[] => {
  const nodes = new Set(job.assignments.map(({ node }) => node))
  const tick = tickWith(job.list.members)
  return [
    [tick, inTime],
    [tick, late],
    [tick, deadline],
    [{ type: 'cancel' }, inTime],
    ...[...nodes].flatMap((node) =>
      [...steps(job, node), ...(loyal.includes(node) ? [] : failures(job, node))].map(
        (command) => [command, inTime] as const,
      ),
    ),
  ]
}

/** What a node does that does its part. It may as well do nothing. */
function steps(job: Job, node: Address): readonly Command[] {
  const { fence, answer } = assignmentOf(job, node)!
  return [
    { type: 'see-access', node, fence },
    { type: 'claim', node, fence },
    commitBy(job, node, 'x'),
    revealBy(job, node, 'x'),
    ...(answer ? [deliverBy(job, node), verdictBy(job, node, 'match')] : []),
    ...(answer && job.weighing
      ? [showBy(job, node, 'cid'), weighBy(job, node), numbersBy(job, node)]
      : []),
  ]
}

// One node that may be full, leave, lie or return is enough to meet every state with it, and two that may differ.
function failures(job: Job, node: Address): readonly Command[] {
  const { fence, answer } = assignmentOf(job, node)!
  return [
    abortBy(job, node, node === nodeB ? 'provider-unavailable' : 'node-failed'),
    ...(node === nodeB || node === nodeD
      ? [commitBy(job, node, 'y'), revealBy(job, node, 'y')]
      : []),
    ...(node === nodeA && fence === 1
      ? ([
          { type: 'find-busy', node, fence },
          { type: 'find-gone', node, fence },
          { type: 'find-ended', node, fence },
          { type: 'find-other-list', node, fence },
        ] as const)
      : []),
    ...(answer ? [verdictBy(job, node, 'output-mismatch'), abortTurnBy(job, node)] : []),
    ...(answer && node === nodeB
      ? [deliverBy(job, node, 'other'), verdictBy(job, node, 'inconclusive')]
      : []),
    // Of one owner's nodes that have a key together.
    ...(node === nodeB
      ? [
          revealBy(job, node, 'x'),
          ...(answer
            ? [deliverBy(job, node), verdictBy(job, node, 'match'), abortTurnBy(job, node)]
            : []),
        ].map((command) => signedWith(command, keyOfNode(nodeA)))
      : []),
  ]
}

/** The job with its times counted anew, so that two jobs that differ in these alone are one. */
const rebased = (job: Job): Job => ({
  ...job,
  assignments: job.assignments.map((assignment) => ({
    ...assignment,
    ...(assignment.deadline !== undefined && { deadline: 100 }),
    ...(assignment.endedAt !== undefined && { endedAt: 0 }),
  })),
  ...(job.agreement && {
    agreement: {
      ...job.agreement,
      turns: job.agreement.turns.map((turn) => ({ ...turn, deadline: 100 })),
    },
  }),
  ...(job.weighing && { weighing: { ...job.weighing, deadline: 100 } }),
  ...(job.fillAt !== undefined && { fillAt: 0 }),
  ...(job.heldFrom !== undefined && { heldFrom: 1 }),
  // What else is asked for says nothing of what may come.
  outbox: job.outbox.filter(({ effect }) => effect.type === 'slash-node'),
  events: [],
})

/** What decides on what may come; what is only noted does not. */
const keyOf = (job: Job): string =>
  JSON.stringify([
    job.phase,
    job.reason,
    job.seats,
    job.fillAt,
    job.firstCommitted?.nextFence,
    job.faults?.map(({ kind, fence }) => [kind, fence]),
    job.assignments.map(
      ({ seat, batch, node, status, reason, deadline: end, commitment, answer }) => [
        seat,
        batch,
        node.at(-1),
        status,
        reason,
        end,
        commitment?.slice(-6),
        answer?.hash.slice(-6),
      ],
    ),
    job.agreement?.turns.map(
      ({ failed, fence, deadline: end, delivery, verdicts, absent, settled }) =>
        failed
          ? fence
          : [
              fence,
              end,
              delivery?.hash.slice(-6),
              verdicts.map(({ hash }) => hash.slice(-6)).toSorted(),
              absent.toSorted(),
              settled,
            ],
    ),
    job.weighing && [
      job.weighing.step,
      job.weighing.deadline,
      job.weighing.shown.map(({ fence }) => fence).toSorted(),
      job.weighing.weighed.map(({ fence }) => fence).toSorted(),
      job.weighing.opened.map(({ body }) => body.fence).toSorted(),
    ],
  ])

/** Walks every state that is reachable from a job while some nodes are loyal, rather than samples them; says what was met. */
function walk(first: Job, loyal: readonly Address[] = []) {
  const met = {
    ends: new Set<string>(),
    noted: new Set<string>(),
    shown: 0,
    states: 0,
    weighing: new Set<string>(),
  }
  const outbox = createOutboxWalk(limits)
  const seen = new Set<string>()
  const queue: Job[] = [first]
  while (queue.length > 0) {
    const found = queue.pop()!
    const job = rebased(found)
    const key = keyOf(job)
    if (seen.has(key)) continue
    seen.add(key)
    if (job.weighing) met.weighing.add(job.weighing.step)
    if (isSettled(job.phase)) {
      met.ends.add(`${job.phase} ${job.reason}`)
      outbox.walk(found)
    } else {
      checkEnd(found, tickWith(job.list.members), limits)
      checkRunningNews(found, limits)
    }
    for (const [command, now] of commandsFor(job, loyal)) {
      const next = transition(job, command, now, limits)
      if ('refused' in next) {
        if (next.noted) met.noted.add(checkNoted(job, command, next.noted.job, next.refused))
      } else if (next.job !== job) {
        checkStep(job, next.job)
        met.shown += checkShown(job, command, next.job)
        queue.push(next.job)
      }
    }
  }
  met.states = seen.size
  return { ...met, outbox: outbox.met }
}

describe('in every reachable state', () => {
  it('of a pool of three the promises of a job hold', () => {
    const webhook = newWebhook('https://receiver.test')
    const job = sampleJob({ deadline, members: [nodeA, nodeB, nodeC], webhook })
    const met = walk(committed(claimed(job, nodeB, 0), [[nodeC, 'x']], 0))
    expect(met.states).toBeGreaterThan(2_000)
    expect(met.shown).toBeGreaterThan(1_000)
    expect(met.ends).toEqual(
      new Set([
        'accepted quorum-agreed',
        'disputed undelivered',
        'expired attempts-exhausted',
        'expired deadline-passed',
        'expired list-differs',
        'expired list-ended',
        'expired list-used-up',
        'expired not-enough-nodes',
      ]),
    )
    expect(met.noted).toEqual(
      new Set([
        'answered-late',
        'equivocated deliver',
        'equivocated post-verdict',
        'equivocated reveal',
      ]),
    )
    expect(met.outbox.states).toBeGreaterThan(200)
    for (const end of [
      'accepted committed delivered executed',
      'disputed gone cancelled',
      'expired given-up off',
      'expired delivered kept',
    ]) {
      expect(met.outbox.left).toContain(end)
    }
  })

  it('of a job that may be joined by a fourth node they hold, too', () => {
    const job = sampleJob({ deadline, members: [nodeA, nodeB, nodeC, nodeD] })
    const two = [
      [nodeA, 'x'],
      [nodeC, 'x'],
    ] as const
    const met = walk(committed(claimed(job, nodeB, 0), two, 0), [nodeA, nodeC])
    expect(met.states).toBeGreaterThan(2_000)
    expect(met.ends).toContain('disputed quorum-disagreed')
    expect(met.ends).toContain('accepted quorum-agreed')
  })

  it('of a job whose answers are weighed they hold, too', () => {
    const terms = { needs: { parts: ['teacher' as const] } }
    const job = sampleJob({ deadline, members: [nodeA, nodeB, nodeC], terms })
    const answers = [nodeA, nodeB, nodeC].map((node) => [node, 'x'] as const)
    const met = walk(answered(job, answers, 0), [nodeA, nodeB, nodeC])
    expect(met.states).toBeGreaterThan(500)
    expect(met.weighing).toEqual(new Set(['show', 'weigh', 'open', 'over']))
    expect(met.ends).toContain('accepted quorum-agreed')
    expect(met.ends).toContain('disputed undelivered')
  })
})
