/*
 * Problem: a draw asks for three grants at once, and an accepted job scores all its nodes at once. A save of the job for
 * each of them, and one more to take its effect out of the outbox, would be most of what a job writes.
 *
 * Idea: effects of a job that are due together are tried together. What came of those that end within a moment of one
 * another is one command: what was found about their assignments, and that they are done. One that takes longer than that
 * holds up no other, and is noted by itself.
 *
 * Invariants:
 * - An offer and the end of its effect are one save, and so is the claim of a poll that waits for it in this process.
 * - A node's free slots are counted, and its offer is saved, while no other offer to it is made. The queues of several
 *   nodes are entered in one order, so that no two jobs wait for one another.
 * - Nothing is noted once another replica leads.
 * - What has nothing to say but that it is done may be noted with the job's result (commits-due.ts). Until then it is not tried again.
 *
 * Failure cases: one that fails is noted with its error, and those beside it as they ended. Where the store cannot tell,
 * nothing is noted, and all of them stay due.
 */

import type { Clock } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { ProblemError } from '../../lib/problem.ts'
import { atMost } from '../async/at-most.ts'
import type { KeyedMutex } from '../async/mutex.ts'
import type { Dependencies } from '../dependencies.ts'
import { keepClaiming } from '../operations/assignments.ts'
import { changeJob } from '../operations/change-job.ts'
import { checkFitness, demandOf } from '../pool/load-pool.ts'
import type { EffectNews, Finding, NewsOfEffects, Tried } from '../rules/commands.ts'
import type { Effect, PendingEffect } from '../rules/effects.ts'
import type { Job, MemberState } from '../rules/job.ts'
import { ensureAccess } from './ensure-access.ts'
import { scoreNode } from './score-node.ts'
import { slashNode } from './slash-node.ts'

/** How long what has ended waits for what ends with it. */
export const togetherMs = 50
const busyRetryMs = 1_000
const longestAccessRetryMs = 10_000

/** Whose turn it is to deliver, and the queues, one for each node, in which offers are made. */
export type Delivering = {
  /** Aborts when another replica leads. */
  readonly term: AbortSignal
  readonly offers: KeyedMutex
  /** Takes the numbers of effects that are done, to be noted with the result of their job; false when that has none under way. */
  readonly noteLater: (id: JobId, effectIds: readonly number[]) => boolean
  /** Called with the numbers of effects whose tries are noted: they may be tried again although others of the job are still under way. */
  readonly onNoted: (effectIds: readonly number[]) => void
}

type Seat = Pick<Finding, 'node' | 'fence'>

/** What came of a try: news, with what was found about an assignment, or one that may be offered now. */
type Outcome = { readonly effectId: number } & (
  | { readonly news: EffectNews; readonly finding?: Finding }
  | { readonly offer: Seat }
)

/** Tries effects of a job's outbox, other than its commitment on chain and the message to its client's server. */
export async function deliverEffects(
  deps: Dependencies,
  id: JobId,
  effectIds: readonly number[],
  delivering: Delivering,
): Promise<void> {
  const job = (await deps.store.findJob(id))?.document
  if (!job) return
  const pending = job.outbox.filter((entry) => effectIds.includes(entry.id))
  const tries = pending.map((one) => tryEffect(deps, job, one, delivering.term))
  await inGroups(deps.clock, tries, async (outcomes) => {
    await note(deps, job, outcomes, delivering)
    delivering.onNoted(outcomes.map(({ effectId }) => effectId))
  })
}

async function tryEffect(
  deps: Dependencies,
  job: Job,
  pending: PendingEffect,
  term: AbortSignal,
): Promise<Outcome> {
  const { id: effectId, effect } = pending
  try {
    return { effectId, ...(await perform(deps, job, pending, term)) }
  } catch (caught) {
    return { effectId, news: failed(deps, job, effect, caught) }
  }
}

/** The news of a try that failed; throws what says nothing about the effect. */
function failed({ log }: Dependencies, { id: jobId }: Job, effect: Effect, caught: unknown) {
  // What the store cannot do now says nothing about the effect; to note each try would only make more to save.
  if (caught instanceof ProblemError && caught.code === 'unavailable') throw caught
  const error = errorMessage(caught)
  log.warn('effect failed', { jobId, effect: effect.type, error })
  return effectTried({ done: false, error })
}

const effectTried = (tried: Tried): EffectNews => ({ type: 'effect-tried', tried })
const done = effectTried({ done: true })

async function perform(
  deps: Dependencies,
  job: Job,
  { effect, attempts }: PendingEffect,
  term: AbortSignal,
) {
  switch (effect.type) {
    case 'ensure-access':
      return seeAccess(deps, job, effect, attempts, term)
    case 'score-node':
      await scoreNode(deps, job, effect)
      return { news: done }
    case 'slash-node':
      return { news: await slashNode(deps, job, effect, attempts, term) }
    case 'commit-result':
      throw new TypeError('Results are committed many at a time')
    case 'notify':
      throw new TypeError('Messages to servers are sent apart from other effects')
  }
}

async function seeAccess(
  deps: Dependencies,
  job: Job,
  { node, fence }: Extract<Effect, { type: 'ensure-access' }>,
  attempts: number,
  term: AbortSignal,
) {
  const access = await ensureAccess(deps, job, node, fence, term)
  switch (access) {
    case 'allowed':
      return { offer: { node, fence } }
    case 'not-needed':
      return { news: done }
    case 'refused':
      return { news: done, finding: { type: 'refuse-access', node, fence } as const }
    case 'ended':
      return { news: done, finding: { type: 'find-ended', node, fence } as const }
    case 'missing': {
      const retryMs = Math.min(1_000 * 1.2 ** attempts, longestAccessRetryMs)
      const finding = { type: 'miss-access', node, fence } as const
      return { news: effectTried({ done: false, retryMs }), finding }
    }
  }
}

/** Saves what came of some effects, and offers the assignments that can be offered, in one save. */
async function note(
  deps: Dependencies,
  job: Job,
  outcomes: readonly Outcome[],
  { term, offers, noteLater }: Delivering,
): Promise<void> {
  const isDone = outcomes.every((one) => 'news' in one && one.news === done && !one.finding)
  const effectIds = outcomes.map(({ effectId }) => effectId)
  if (isDone && !term.aborted && noteLater(job.id, effectIds)) return
  const nodes = outcomes.flatMap((one) => ('offer' in one ? [one.offer.node] : [])).toSorted()
  await inQueues(offers, nodes, async () => {
    const news = await Promise.all(outcomes.map((one) => newsOf(deps, job, one)))
    // Asked last of all: what was counted holds only as long as nobody else makes offers.
    await withClaims(deps, news.flat(), (all) =>
      changeJob(deps, job.id, async () =>
        term.aborted ? undefined : { type: 'effects-seen', news: all },
      ),
    )
  })
}

/** Adds the claims of the nodes among those that are offered something whose polls wait for that here. */
async function withClaims(
  deps: Dependencies,
  news: NewsOfEffects,
  work: (news: NewsOfEffects) => Promise<unknown>,
): Promise<void> {
  const polls = news.flatMap((one) => {
    if (one.type !== 'see-access') return []
    const { node, fence } = one
    const kept = keepClaiming(deps, node)
    return kept ? [{ ...kept, node, fence }] : []
  })
  try {
    const claims = polls.map(
      ({ node, fence, question: { poll } }) => ({ type: 'claim', node, fence, poll }) as const,
    )
    await work([...news, ...claims])
  } finally {
    for (const { letGo } of polls) letGo()
  }
}

/** Runs work while no other offers to these nodes are made. Each is in the list once: a job has one open assignment of a node. */
const inQueues = <T>(
  queues: KeyedMutex,
  [first, ...rest]: readonly Address[],
  work: () => Promise<T>,
): Promise<T> => (first === undefined ? work() : queues(first, () => inQueues(queues, rest, work)))

async function newsOf(deps: Dependencies, job: Job, outcome: Outcome): Promise<NewsOfEffects> {
  const { effectId } = outcome
  if ('news' in outcome) {
    const { news, finding } = outcome
    return [...(finding ? [finding] : []), { ...news, effectId }]
  }
  const { node, fence } = outcome.offer
  try {
    const fitness = await checkFitness(deps, node, demandOf(job))
    const tried: Tried = fitness === 'busy' ? { done: false, retryMs: busyRetryMs } : { done: true }
    return [
      { type: findingOf(fitness), node, fence },
      { ...effectTried(tried), effectId },
    ]
  } catch (caught) {
    const effect = { type: 'ensure-access', node, fence } as const
    return [{ ...failed(deps, job, effect, caught), effectId }]
  }
}

const findingOf = (fitness: MemberState) => {
  if (fitness === 'fit') return 'see-access'
  return fitness === 'busy' ? 'find-busy' : 'find-gone'
}

/** Has all pieces of work end, and hands on those that end within a moment of one another together; throws the first failure at the end. */
async function inGroups<T>(
  clock: Clock,
  pieces: readonly Promise<T>[],
  handOn: (ended: readonly T[]) => Promise<void>,
): Promise<void> {
  let ended: T[] = []
  const failures: unknown[] = []
  const fail = (error: unknown) => void failures.push(error)
  const left = new Set<Promise<void>>()
  for (const piece of pieces) {
    const end = piece
      .then((one) => void ended.push(one), fail)
      .then(() => {
        left.delete(end)
      })
    left.add(end)
  }
  while (left.size > 0) {
    await Promise.race(left)
    await atMost(clock, togetherMs, Promise.all(left))
    const group = ended
    ended = []
    if (group.length > 0) await handOn(group).catch(fail)
  }
  if (failures.length > 0) throw failures[0]
}
