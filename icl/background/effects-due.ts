/*
 * Problem: the effects of jobs (grants, offers, scores, results on chain, slashes, messages to servers) must happen although
 * processes die, and must not happen on every replica at once.
 *
 * Idea: each job has an outbox of effects with due times. The one replica with the leadership lease looks for due effects,
 * starts them concurrently, and records the results in the jobs (icl/rules/outbox.ts). An effect leaves the outbox only when
 * it is done. The results of many jobs go on chain in one transaction (commits-due.ts). Messages to servers have queues of
 * their own, and effects that ask the chain a limit of their own: a slow server or chain delays nothing else.
 *
 * Invariants:
 * - Each effect runs at most once at a time in this process, and is safe to repeat. A try that hangs delays no other effect
 *   of its job.
 * - Work begins only in a term of the lease. The term's signal aborts when the lease is lost, and no result is recorded after
 *   that.
 * - Effects that run, fail or wait for the chain stay due in the store. The look asks for that many more, so that they do not
 *   hide the others, as long as at most 5,000 jobs wait for the chain.
 * - Results that are not recorded yet are forgotten with the term, because the saves of a term may be lost with it.
 * - The first look of a term, and the one after the clock was set back, is at the effects that wait, too, of up to 5,000 jobs:
 *   some may have been put off by a clock that was ahead (`isDue`). It comes at most every 10 s, and again while it finds some.
 * - A job with an effect that waits for the chain is looked at again after 5 s, because others of its effects may be due: the
 *   longest unseen first, and 64 in a look, so that many do not stay in step after a pause.
 *
 * Failure cases: a replica that dies leaves its effects due, and the next holder of the lease starts them. A replica that was
 * frozen may repeat the work of its successor: contracts skip what they have, and scores have fixed ids. An effect that fails
 * gets a later due time, with growing waits. While the store is away nothing is recorded, and the pause is in memory.
 */
import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { createKeyedMutex } from '../async/mutex.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import type { PendingEffect } from '../rules/effects.ts'
import { isSettled, type Job } from '../rules/job.ts'
import { isDue } from '../rules/outbox.ts'
import { createCommits } from './commits-due.ts'
import { deliverEffects } from './deliver-effects.ts'
import type { Leadership } from './leadership.ts'
import { createNotices } from './webhooks-due.ts'

const batchSize = 64
const maxUnderWay = 256
const maxPutOff = 5_000
const maxWaiting = 5_000
const wideLookMs = 10_000
const lookAgainMs = 5_000

const nameOf = (id: JobId, ...effectIds: readonly number[]): string =>
  `effect ${effectIds.join(', ')} of ${id}`

/** True for an effect that asks the chain, which may be slow. A settled job needs no grants any more. */
const asksChain = ({ phase }: Job, { effect: { type } }: PendingEffect): boolean =>
  (type === 'ensure-access' && !isSettled(phase)) || type === 'slash-node'

/** All jobs that no look has seen, and some of those that wait. */
function toLookAt(due: readonly JobId[], unseenMs: (id: JobId) => number): readonly JobId[] {
  const isNew = (id: JobId) => unseenMs(id) === Number.POSITIVE_INFINITY
  const again = due.filter((id) => !isNew(id) && unseenMs(id) >= lookAgainMs)
  const byUnseen = again.toSorted((one, other) => unseenMs(other) - unseenMs(one))
  return [...due.filter(isNew), ...byUnseen.slice(0, batchSize)]
}

/** Finds jobs with due effects and, now and then, those whose effects a clock that was ahead may have put off. */
function createLooks({ store, clock }: Dependencies) {
  let mayBeHeldUp = true
  let lastLookAt = 0
  let lookedWideAt: MonotonicMs | undefined
  return {
    /** Makes one of the next looks a wide one. */
    want: () => {
      mayBeHeldUp = true
    },
    listDue: async (now: number, limit: number): Promise<readonly JobId[]> => {
      mayBeHeldUp ||= now < lastLookAt
      lastLookAt = now
      if (!mayBeHeldUp || elapsedSince(clock, lookedWideAt) < wideLookMs)
        return await store.listDue('effect', now, limit)
      const all = await store.listDue('effect', Number.MAX_SAFE_INTEGER, maxWaiting)
      mayBeHeldUp = false
      lookedWideAt = clock.monotonic()
      return all
    },
    find: async (id: JobId): Promise<Job | undefined> => {
      try {
        return (await store.findJob(id))?.document
      } catch (error) {
        mayBeHeldUp = true
        throw error
      }
    },
  }
}

/** Delivers effects while this replica leads. */
export function createEffects(deps: Dependencies, leadership: Leadership) {
  const work = createWork(deps)
  const chainWork = createWork(deps)
  const looks = createWork(deps)
  const commits = createCommits(deps)
  const notices = createNotices(deps)
  const offers = createKeyedMutex()
  const underWay = new Set<string>()
  // The jobs with effects that wait until fewer ask the chain, in the order in which they came, and when each was looked at.
  const putOff = new Map<JobId, MonotonicMs>()
  let lastTerm: AbortSignal | undefined
  const outboxes = createLooks(deps)

  const startJob = async (id: JobId, now: number, term: AbortSignal) => {
    const job = await outboxes.find(id)
    if (!job) return void putOff.delete(id)
    const lookedAt = deps.clock.monotonic()
    const together: PendingEffect[] = []
    let result: number | undefined
    let isPutOff = false
    for (const pending of job.outbox) {
      const { id: effectId, effect } = pending
      if (!isDue(job, pending, now)) continue
      // Until its result is saved, no look at what is due shows it.
      if (pending.dueAt > now) outboxes.want()
      if (commits.isDone(id, effectId) || underWay.has(nameOf(id, effectId))) continue
      if (effect.type === 'commit-result') result = effectId
      else if (effect.type === 'notify') notices.add(job, effectId, term)
      else if (asksChain(job, pending) && chainWork.size >= maxUnderWay) isPutOff = true
      else together.push(pending)
    }
    if (!isPutOff) putOff.delete(id)
    else if (putOff.has(id) || putOff.size < maxPutOff) putOff.set(id, lookedAt)
    const others = together.length === 0 ? Promise.resolve() : deliver(job, together, term)
    if (result !== undefined) commits.add(id, { effectId: result, others, lookedAt })
  }
  const deliver = (job: Job, together: readonly PendingEffect[], term: AbortSignal) => {
    const { id } = job
    const effectIds = together.map((pending) => pending.id)
    const { noteLater } = commits
    // An effect that was let go may run again, in another piece of work.
    const held = new Set(effectIds)
    const letGo = (some: readonly number[]) => {
      for (const effectId of some) if (held.delete(effectId)) underWay.delete(nameOf(id, effectId))
    }
    const pieces = together.some((one) => asksChain(job, one)) ? chainWork : work
    return pieces.start(nameOf(id, ...effectIds), async () => {
      for (const effectId of effectIds) underWay.add(nameOf(id, effectId))
      try {
        await deliverEffects(deps, id, effectIds, { term, offers, noteLater, onNoted: letGo })
      } finally {
        letGo(effectIds)
      }
    })
  }
  const unseenMs = (id: JobId): number =>
    elapsedSince(deps.clock, commits.lookedAt(id) ?? putOff.get(id))

  return {
    /** Starts the effects that are due and do not run yet. */
    startDue: async () => {
      const term = leadership.term()
      if (term !== lastTerm) {
        commits.clear()
        putOff.clear()
        lastTerm = term
        outboxes.want()
      }
      if (!term || work.size >= maxUnderWay) return
      const room = Math.max(0, maxUnderWay - chainWork.size)
      for (const id of [...putOff.keys()].slice(0, room)) putOff.delete(id)
      const now = deps.clock.now()
      const started = [work, chainWork].reduce((sum, { size, failed }) => sum + size + failed, 0)
      const held = commits.size + putOff.size + looks.failed + notices.size
      const due = await outboxes.listDue(now, batchSize + started + held)
      // A job that cannot be read must not hold up the others.
      await Promise.all(
        toLookAt(due, unseenMs).map((id) =>
          looks.start(`effects of ${id}`, () => startJob(id, now, term)),
        ),
      )
      commits.start(term)
    },
    /** Resolves once no effect runs. */
    idle: async () => {
      await Promise.all([work, chainWork, commits, notices].map((one) => one.idle()))
    },
  }
}
