/*
 * Problem: what jobs ask of the outside world (grants, offers, scores, results on chain, slashes, messages to
 * servers) must happen although processes die, and must not happen on every replica at once.
 *
 * Idea: each job has an outbox of effects with a due time. The one replica that has the leadership lease looks for
 * due effects, starts them side by side, and notes in the job what came of each (icl/rules/outbox.ts), of several
 * at once where it can (deliver-effects.ts). An effect leaves the outbox only when it is done. Two kinds go their own
 * way: results are collected over many jobs and put on chain in one transaction, and messages to servers have queues
 * of their own so that a slow server holds up nothing else.
 *
 * Invariants:
 * - Each effect is under way at most once in this process, and is safe to repeat.
 * - Work begins only in a term of the lease. The term's signal aborts when the lease is lost; what came of an
 *   effect is noted only if that has not happened by then.
 * - Effects that are under way or fail stay due in the store. The look asks for that many more, so that they do
 *   not hide the others.
 *
 * Failure cases: a replica that dies leaves its effects due, and the next holder of the lease starts them. A
 * replica that was frozen may still do what its successor does: contracts skip what they have, and scores have
 * fixed ids. An effect that fails gets a later due time, with growing waits; while the store is away nothing is
 * noted, and the pause is in memory. A transaction with results that the chain does not take may be too large: the
 * next batch is half as big, and grows again after a success.
 */

import type { JobId } from '../../lib/codecs.ts'
import { createKeyedMutex } from '../async/mutex.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import { commitDue, type WaitingResult } from './commit-results.ts'
import { deliverEffects } from './deliver-effects.ts'
import type { Leadership } from './leadership.ts'
import { createNotices } from './webhooks-due.ts'

const batchSize = 64
const maxUnderWay = 256
const mostCommitsAtOnce = 50
const maxCommitsWaiting = 5_000

/** The delivery of what jobs ask of the outside world, by the one replica that leads. */
export type Effects = {
  /** Starts what is due and not under way. */
  startDue(): Promise<void>
  /** Resolves once nothing is under way. */
  idle(): Promise<void>
}

const nameOf = (id: JobId, ...effectIds: readonly number[]): string =>
  `effect ${effectIds.join(', ')} of ${id}`

/** Delivers effects while this replica leads; results go on chain many at a time. */
export function createEffects(deps: Dependencies, leadership: Leadership): Effects {
  const work = createWork(deps)
  const looks = createWork(deps)
  const notices = createNotices(deps)
  const offers = createKeyedMutex()
  const underWay = new Set<string>()
  // Jobs whose result waits for the batch under way to be on chain: they must not hide the others from the next look.
  const waiting = new Map<JobId, WaitingResult>()
  let commitsAtOnce = mostCommitsAtOnce

  const startJob = async (id: JobId, now: number, term: AbortSignal) => {
    const job = (await deps.store.findJob(id))?.document
    const together: number[] = []
    let result: number | undefined
    for (const { id: effectId, effect, dueAt } of job?.outbox ?? []) {
      const isDone = waiting.get(id)?.done.includes(effectId)
      if (dueAt > now || isDone || underWay.has(nameOf(id, effectId))) continue
      if (effect.type === 'commit-result') {
        if (waiting.size < maxCommitsWaiting) result = effectId
      } else if (effect.type === 'notify') {
        if (job) notices.add(job, effectId, term)
      } else {
        together.push(effectId)
      }
    }
    const others =
      together.length === 0
        ? Promise.resolve()
        : work.start(nameOf(id, ...together), () => deliver(id, together, term))
    if (result === undefined || waiting.has(id)) return
    waiting.set(id, { effectId: result, others, done: [], isNoted: false })
  }
  const deliver = async (id: JobId, effectIds: readonly number[], term: AbortSignal) => {
    const names = effectIds.map((effectId) => nameOf(id, effectId))
    for (const name of names) underWay.add(name)
    try {
      await deliverEffects(deps, id, effectIds, { term, offers, noteLater })
    } finally {
      for (const name of names) underWay.delete(name)
    }
  }
  const noteLater = (id: JobId, effectIds: readonly number[]): boolean => {
    const result = waiting.get(id)
    if (!result || result.isNoted) return false
    result.done.push(...effectIds)
    return true
  }
  const startCommits = (term: AbortSignal) => {
    if (waiting.size === 0) return
    void work.start('commits', async () => {
      const batch = [...waiting].slice(0, commitsAtOnce)
      try {
        const isTaken = await commitDue(deps, batch, term)
        // A batch may be more than fits into one of the chain's blocks.
        const next = isTaken ? commitsAtOnce * 2 : Math.floor(batch.length / 2)
        commitsAtOnce = Math.min(Math.max(next, 1), mostCommitsAtOnce)
      } finally {
        for (const [id] of batch) waiting.delete(id)
      }
    })
  }

  return {
    startDue: async () => {
      const term = leadership.term()
      if (!term) return waiting.clear()
      if (work.size >= maxUnderWay) return
      const now = deps.clock.now()
      const limit = batchSize + work.size + work.failed + waiting.size + looks.failed + notices.size
      const due = await deps.store.listDue('effect', now, limit)
      // A job that cannot be read must not hold up the others.
      await Promise.all(
        due
          .filter((id) => !waiting.has(id))
          .map((id) => looks.start(`effects of ${id}`, () => startJob(id, now, term))),
      )
      startCommits(term)
    },
    idle: async () => {
      await Promise.all([work.idle(), notices.idle()])
    },
  }
}
