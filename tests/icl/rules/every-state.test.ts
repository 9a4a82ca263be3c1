import { describe, expect, it } from 'vitest'
import type { Command } from '../../../icl/rules/commands.ts'
import {
  assignmentOf,
  currentAssignments,
  defaultJobLimits,
  isSettled,
  type Job,
  type JobLimits,
} from '../../../icl/rules/job.ts'
import { shownJob } from '../../../icl/rules/shown-job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import { newWebhook } from '../../../icl/rules/webhook.ts'
import type { Address } from '../../../lib/codecs.ts'
import {
  commitmentTo,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  resultOf,
  reveal,
  sampleJob,
  tickWith,
  verdictOf,
} from './sample-job.ts'

// Walks every reachable state of a small world rather than sampling it.
describe('in every reachable state', () => {
  it('the promises of a job hold', () => {
    const limits = { ...defaultJobLimits, maxAttempts: 2, maxVerifiers: 3 }
    const nodes = [nodeA, nodeB, nodeC, nodeD]
    const answers = ['x', 'y']
    const commandsFor = (job: Job): Command[] => [
      tickWith(nodes),
      ...job.assignments
        .filter(({ round, status }) => round < job.round && status === 'done')
        .flatMap(({ node, fence }): Command[] =>
          answers.map((answer) => ({
            type: 'post-result',
            node,
            fence,
            result: resultOf(node, fence, answer),
          })),
        ),
      ...currentAssignments(job).flatMap((assignment): Command[] => {
        const { node, fence } = assignment
        const open = job.result
        return [
          { type: 'see-access', node, fence },
          // One node that may be full or leave is enough to meet every state with it.
          ...(node === nodeA
            ? ([
                { type: 'find-busy', node, fence },
                { type: 'find-gone', node, fence },
              ] as const)
            : []),
          { type: 'claim', node, fence },
          { type: 'abort', node, fence, reason: 'provider-refused' },
          ...answers.flatMap((answer): Command[] => [
            { type: 'commit', node, fence, commitment: commitmentTo(node, fence, answer) },
            { type: 'post-result', node, fence, result: resultOf(node, fence, answer) },
            ...(open ? [reveal(job, node, answer)] : []),
            // One node that may lie is enough to meet every state with it.
            ...(open && node === nodeB ? [lie(job, node, answer)] : []),
          ]),
        ]
      }),
    ]
    // What is only noted changes nothing that may come.
    const unseen = new Set([
      ...['events', 'outbox', 'nextEffect', 'list', 'passed', 'faults', 'scores'],
      'webhook',
      'firstResult',
      'heldFrom',
    ])
    const keyOf = (job: Job) =>
      JSON.stringify(job, (key, value) => {
        if (unseen.has(key)) return undefined
        return typeof value === 'bigint' ? `${value}` : value
      })

    const phases = new Map<string, number>()
    const noted = new Set<string>()
    let refuted = 0
    let shownSame = 0
    const seen = new Set<string>()
    const webhook = newWebhook('https://receiver.test/')
    const queue: Job[] = [sampleJob({ deadline: 1_000, webhook })]
    while (queue.length > 0) {
      const job = queue.pop()!
      const key = keyOf(job)
      if (seen.has(key)) continue
      seen.add(key)
      phases.set(job.phase, (phases.get(job.phase) ?? 0) + 1)
      expect(isSettled(job.phase)).toBe(job.tickAt === undefined)
      if (!isSettled(job.phase)) checkCancelled(job, commandsFor(job), limits)
      for (const command of commandsFor(job)) {
        // Time only moves to the deadline: nothing else in this world is due before it.
        for (const now of command.type === 'tick' ? [0, 1_000] : [0]) {
          const next = transition(job, command, now, limits)
          if ('refused' in next) {
            if (next.noted) noted.add(checkNoted(job, command, next.noted.job, next.refused))
            continue
          }
          checkStep(job, next.job)
          shownSame += checkShown(job, command, next.job)
          const found = next.job.faults === job.faults ? [] : (next.job.faults ?? [])
          for (const { kind, role, node } of found) {
            expect([kind, role, node]).toEqual(['verdict-refuted', 'verifier', nodeB])
            refuted += 1
          }
          if (next.job !== job) queue.push({ ...next.job, outbox: [], events: [] })
        }
      }
    }
    expect(seen.size).toBeGreaterThan(2_000)
    expect(refuted).toBeGreaterThan(0)
    expect(shownSame).toBeGreaterThan(1_000)
    expect(noted).toEqual(new Set(['leader equivocated', 'verifier equivocated']))
    expect(new Set(phases.keys())).toEqual(
      new Set(['accepted', 'disputed', 'expired', 'open', 'rejected', 'running']),
    )
  }, 240_000)
})

/** A verdict that its own evidence refutes, with the commitment that it opens. */
function lie(job: Job, node: Address, answer: string): Command {
  const result = job.result!
  const fence = assignmentOf(job, node)!.fence
  const vote = result.body.evidence.digest === answer ? 'different-answer' : 'match'
  const verdict = verdictOf(node, fence, answer, result.hash, vote)
  return {
    type: 'post-verdict',
    node,
    fence,
    verdict,
    commitment: commitmentTo(node, fence, answer),
  }
}

/** A job can be cancelled whenever it has not settled, and then nothing that was under way changes it; what proves a fault may still be noted. */
function checkCancelled(job: Job, commands: readonly Command[], limits: JobLimits): void {
  const next = transition(job, { type: 'cancel' }, 0, limits)
  if ('refused' in next || next.job.phase !== 'cancelled') throw new Error('it cannot be cancelled')
  checkStep(job, next.job)
  for (const command of commands) {
    const after = transition(next.job, command, 0, limits)
    if ('refused' in after) {
      if (after.noted) checkNoted(next.job, command, after.noted.job, after.refused)
    } else if (after.job !== next.job) throw new Error(`${command.type} changes a cancelled job`)
  }
}

const unshown: ReadonlySet<string> = new Set(['nextFence', 'nextEffect', 'fillAt', 'tickAt'])

/**
 * While a job runs its views stay the same whatever its nodes commit to, answer and reveal, and whoever is seated after the
 * first result: two jobs that differ in that alone look alike. Only what it waits for may show. Counts the comparisons.
 */
function checkShown(before: Job, command: Command, after: Job): number {
  if (before === after || isSettled(after.phase)) return 0
  const isSaid = ['commit', 'post-result', 'post-verdict'].includes(command.type)
  const first = before.firstResult
  const isLater = first && (!('fence' in command) || command.fence >= first.nextFence)
  if (!isSaid && !isLater) return 0
  const look = (job: Job) =>
    JSON.stringify(shownJob(job), (key, value) => {
      if (unshown.has(key) || (key === 'reason' && !isSaid)) return undefined
      return typeof value === 'bigint' ? `${value}` : value
    })
  if (look(before) !== look(after)) {
    throw new Error(`${command.type} shows: ${look(before)} is now ${look(after)}`)
  }
  return 1
}

const noteable: ReadonlySet<string> = new Set([
  'events',
  'outbox',
  'nextEffect',
  'faults',
  'assignments',
])

/** What a refused command leaves behind: a fault of its sender, proven by two statements for one fence, once, and nothing else. */
function checkNoted(before: Job, command: Command, after: Job, refused: string): string {
  if (command.type !== 'post-result' && command.type !== 'post-verdict') {
    throw new Error(`${command.type} is no answer`)
  }
  const fault = after.faults!.at(-1)!
  const { node, fence } = command
  const [one, other] = fault.statements!
  const again = transition(after, command, 0, defaultJobLimits)
  const changed = Object.keys(after).filter(
    (key) => !noteable.has(key) && after[key as keyof Job] !== before[key as keyof Job],
  )
  const held = [
    refused === 'already-answered',
    after.faults!.length === (before.faults?.length ?? 0) + 1,
    [fault, one!.body, other!.body].every((part) => part.fence === fence),
    [fault.node, one!.body.address, other!.body.address].every((address) => address === node),
    one!.hash !== other!.hash,
    changed.length === 0,
    after.assignments.every(
      (assignment, index) => assignment.status === before.assignments[index]?.status,
    ),
    'refused' in again && again.noted === undefined,
  ]
  if (!held.every(Boolean)) throw new Error(`${JSON.stringify(held)} after ${command.type}`)
  return `${fault.role} ${fault.kind}`
}

/** What is kept of rounds that were rejected, and of faults, is complete and there once. */
function checkKept({ faults = [], rounds = [], round, assignments }: Job): void {
  expect(new Set(faults.map(({ kind, fence }) => `${kind} ${fence}`)).size).toBe(faults.length)
  expect(rounds.map((past) => past.round)).toEqual(Array.from({ length: round }, (_, at) => at))
  for (const past of rounds) {
    const leader = assignments.find(({ fence }) => fence === past.result.body.fence)
    expect([leader?.round, leader?.role, leader?.status]).toEqual([past.round, 'leader', 'done'])
  }
}

function checkStep(before: Job, after: Job): void {
  if (after.faults !== before.faults || after.round !== before.round) checkKept(after)
  expect(after.nextFence).toBeGreaterThanOrEqual(before.nextFence)
  if (isSettled(before.phase)) expect(after.phase).toBe(before.phase)
  const fences = after.assignments.map(({ fence }) => fence)
  expect(new Set(fences).size).toBe(fences.length)
  for (let seat = 0; seat < after.seats; seat++) {
    const live = after.assignments.filter(
      (assignment) =>
        assignment.round === after.round &&
        assignment.seat === seat &&
        assignment.status !== 'aborted' &&
        assignment.status !== 'lapsed',
    )
    expect(live.length).toBeLessThanOrEqual(1)
  }
  const held = after.assignments
    .filter(({ round }) => round === after.round)
    .map(({ node }) => node)
  expect(new Set(held).size).toBe(held.length)
  const notices = after.outbox.filter(({ effect }) => effect.type === 'notify')
  const settlesNow = isSettled(after.phase) && !isSettled(before.phase)
  if (notices.length !== (settlesNow ? 1 : 0)) throw new Error(`${notices.length} messages`)
  const commits = after.outbox.filter(({ effect }) => effect.type === 'commit-result')
  if (before.phase !== 'accepted' && after.phase === 'accepted') {
    expect(commits).toHaveLength(1)
    const leader = after.result!.body.address
    const matches = currentAssignments(after).filter(
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
