/*
 * Problem: a draw asks for three grants at once, and an accepted job scores all its nodes at once. A save of the job for each
 * result, and one more to remove the effect from the outbox, would be most of a job's writes.
 *
 * Idea: effects of a job that are due together are tried together. The results of tries that end at about the same time are
 * one command, with what was found about their assignments. A try that takes longer delays no other, and is recorded alone.
 *
 * Invariants:
 * - An offer and the end of its effect are one save.
 * - No other offer to a node is made between the count of its free slots and the save of its offer. The queues of several
 *   nodes are entered in one order, so that no two jobs wait for one another.
 * - Nothing is recorded once another replica leads.
 * - An effect that is done and found nothing may be recorded with the job's result (commits-due.ts). Until then it is not
 *   tried again.
 *
 * Failure cases: a try that fails is recorded with its error. If the store fails, nothing is recorded, and all stay due.
 */
import type { Clock } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { ProblemError } from '../../lib/problem.ts'
import { atMost } from '../async/at-most.ts'
import type { KeyedMutex } from '../async/mutex.ts'
import type { Chain } from '../chain/chain.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeJob } from '../operations/change-job.ts'
import { checkFitness, demandOf } from '../pool/load-pool.ts'
import type { EffectNews, Finding, NewsOfEffects, Tried } from '../rules/commands.ts'
import type { Effect, PendingEffect } from '../rules/effects.ts'
import { assignmentOf, isSettled, type Job, type MemberState } from '../rules/job.ts'
import { scoreNode } from './score-node.ts'
import { slashNode } from './slash-node.ts'
import type { SlotTurns } from './slot-turns.ts'

/** How long a try that has ended waits for others, in milliseconds. */
export const togetherMs = 50
const busyRetryMs = 1_000
const longestAccessRetryMs = 10_000

/** The term of the delivery, and the queues of the nodes, in which offers are made. */
export type Delivering = {
  /** Aborts when another replica leads. */
  readonly term: AbortSignal
  readonly offers: KeyedMutex
  readonly turns: SlotTurns
  /** Takes the numbers of finished effects, to record them with the result of their job. Returns false when no result waits. */
  readonly noteLater: (id: JobId, effectIds: readonly number[]) => boolean
  /** Called with the numbers of effects whose tries are recorded: they may be tried again although others of the job still run. */
  readonly onNoted: (effectIds: readonly number[]) => void
}

type Seat = Pick<Finding, 'node' | 'fence'>

/** The result of a try: news, with what was found about an assignment, or an assignment that may be offered now. */
type Outcome = { readonly effectId: number } & (
  | { readonly news: EffectNews; readonly finding?: Finding }
  | { readonly offer: Seat }
)

/** Tries effects of a job's outbox, except its commitment on chain and the message to its client's server. */
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

/** Returns the news of a failed try. Throws a failure of the store. */
function failed({ log }: Dependencies, { id: jobId }: Job, effect: Effect, caught: unknown) {
  // A failure of the store says nothing about the effect, and recording it would only make more saves.
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
  const finding = <T extends Finding['type']>(type: T) => ({ finding: { type, node, fence } })
  switch (await ensureAccess(deps, job, node, fence, term)) {
    case 'allowed':
      return { offer: { node, fence } }
    case 'not-needed':
      return { news: done }
    case 'refused':
      return { news: done, ...finding('refuse-access') }
    case 'ended':
      return { news: done, ...finding('find-ended') }
    case 'other':
      return { news: done, ...finding('find-other-list') }
    case 'missing': {
      const retryMs = Math.min(1_000 * 1.2 ** attempts, longestAccessRetryMs)
      return { news: effectTried({ done: false, retryMs }), ...finding('miss-access') }
    }
  }
}

/** Saves the results of some tries, and offers the assignments that can be offered, in one save. */
async function note(
  deps: Dependencies,
  job: Job,
  outcomes: readonly Outcome[],
  { term, offers, turns, noteLater }: Delivering,
): Promise<void> {
  const isDone = outcomes.every((one) => 'news' in one && one.news === done && !one.finding)
  const effectIds = outcomes.map(({ effectId }) => effectId)
  if (isDone && !term.aborted && noteLater(job.id, effectIds)) return
  const nodes = outcomes.flatMap((one) => ('offer' in one ? [one.offer.node] : [])).toSorted()
  await inQueues(offers, nodes, async () => {
    const news = await Promise.all(outcomes.map((one) => newsOf(deps, job, one, turns)))
    // Asked last, because the counts hold only while no other offers are made.
    await changeJob(deps, job.id, async () =>
      term.aborted ? undefined : { type: 'effects-seen', news: news.flat() },
    )
  })
}

/** Runs work while no other offers to these nodes are made. Each node is in the list once. */
const inQueues = <T>(
  queues: KeyedMutex,
  [first, ...rest]: readonly Address[],
  work: () => Promise<T>,
): Promise<T> => (first === undefined ? work() : queues(first, () => inQueues(queues, rest, work)))

async function newsOf(
  deps: Dependencies,
  job: Job,
  outcome: Outcome,
  turns: SlotTurns,
): Promise<NewsOfEffects> {
  const { effectId } = outcome
  if ('news' in outcome) {
    const { news, finding } = outcome
    return [...(finding ? [finding] : []), { ...news, effectId }]
  }
  const { node, fence } = outcome.offer
  try {
    const fitness = turns.yields(job, node) ? 'busy' : await checkFitness(deps, node, demandOf(job))
    if (fitness === 'busy') turns.foundBusy(job, node)
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

/** Waits for all pieces of work, and passes on together those that end at about the same time. Throws the first failure at the end. */
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
    const end: Promise<void> = piece
      .then((one) => void ended.push(one), fail)
      .finally(() => void left.delete(end))
    left.add(end)
  }
  // Some may end while others are passed on.
  while (left.size > 0 || ended.length > 0) {
    if (ended.length === 0) await Promise.race(left)
    await atMost(clock, togetherMs, Promise.all(left))
    const group = ended
    ended = []
    if (group.length > 0) await handOn(group).catch(fail)
  }
  if (failures.length > 0) throw failures[0]
}

/** Whether a node can read the prompt key of its job. `ended`: its client gives no other node access. */
type Access = 'allowed' | 'missing' | 'refused' | 'ended' | 'other' | 'not-needed'

/** Makes sure that a node may read the prompt key. The coordinator activates members of the list that the client committed to. */
async function ensureAccess(
  { chain, log }: Dependencies,
  job: Job,
  node: Address,
  fence: number,
  term: AbortSignal,
): Promise<Access> {
  const { id: jobId, kpHighHandle: high, kpLowHandle: low, list } = job
  const assignment = assignmentOf(job, node)
  const isWaiting = assignment?.fence === fence && assignment.status === 'awaiting-grant'
  if (isSettled(job.phase) || !isWaiting) return 'not-needed'
  const { position } = assignment
  const [{ commitment, used, ended }, isAllowed] = await Promise.all([
    chain.listOf(high, low),
    isReadable(chain, high, low, node),
  ])
  if (commitment === undefined) return ended ? 'ended' : 'missing'
  if (commitment !== list.commitment) {
    log.warn('the client committed to another list', { jobId, commitment })
    return 'other'
  }
  if (isAllowed) return 'allowed'
  // The chain has activated it, and an RPC server lags behind. Another activation would change nothing.
  if ((used & (1 << position)) !== 0) return 'missing'
  if (ended || list.activator !== chain.coordinator) return 'ended'
  const { members, until } = list
  const outcome = await chain.activate({ high, low, jobId, members, until, position }, term)
  if (outcome === 'refused') log.warn('access refused: the node is not active on chain', { node })
  if (outcome !== 'granted') return outcome
  log.info('node activated', { jobId, node })
  return (await isReadable(chain, high, low, node)) ? 'allowed' : 'missing'
}

async function isReadable(chain: Chain, high: bigint, low: bigint, node: Address) {
  const allowed = await Promise.all([chain.isAllowed(high, node), chain.isAllowed(low, node)])
  return allowed.every(Boolean)
}
