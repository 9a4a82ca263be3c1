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
 * - Effects that run, fail or wait for the chain stay due in the store. A look lists only what has become due since the one
 *   before, and all every 5 s, or at once after a list that was cut. That one asks for more than is held, so that what is held does
 *   not hide the others, as long as at most 5,000 jobs wait for the chain.
 * - Results that are not recorded yet are forgotten with the term, because the saves of a term may be lost with it.
 * - The first look of a term, and the one after the clock was set back, is at the effects that wait, too, of up to 5,000 jobs:
 *   some may have been put off by a clock that was ahead (`isDue`). It comes at most every 10 s, and again while it finds some.
 * - A job with an effect that waits for the chain is looked at again once another of its effects is due. It is also looked at
 *   after 5 s, or as late as one job in 25 ms allows, because it may have new ones.
 *
 * Failure cases: a replica that dies leaves its effects due, and the next holder of the lease starts them. A replica that was
 * frozen may repeat the work of its successor: contracts skip what they have, and scores have fixed ids. An effect that fails
 * gets a later due time, with growing waits. While the store is away nothing is recorded, and the pause is in memory.
 */
import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { createDueList } from '../async/due-list.ts'
import { createKeyedMutex } from '../async/mutex.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import type { PendingEffect } from '../rules/effects.ts'
import { isSettled, type Job } from '../rules/job.ts'
import { isDue } from '../rules/outbox.ts'
import { createCommits } from './commits-due.ts'
import { deliverEffects } from './deliver-effects.ts'
import type { Leadership } from './leadership.ts'
import { createSlotTurns } from './slot-turns.ts'
import { createNotices } from './webhooks-due.ts'

const batchSize = 64
const maxUnderWay = 256
const maxPutOff = 5_000
const maxWaiting = 5_000
const wideLookMs = 10_000
const lookAgainMs = 5_000
const lookAgainEachMs = 25
/** How long after its time an effect may appear in the store: saves take time, and clocks of replicas differ. */
const lateMs = 2_000

const nameOf = (id: JobId, ...effectIds: readonly number[]): string =>
  `effect ${effectIds.join(', ')} of ${id}`

/** True for an effect that asks the chain, which may be slow. A settled job needs no grants any more. */
const asksChain = ({ phase }: Job, { effect: { type } }: PendingEffect): boolean =>
  (type === 'ensure-access' && !isSettled(phase)) || type === 'slash-node'

/** Finds jobs with due effects and, now and then, those whose effects a clock that was ahead may have put off. */
function createLooks({ store, clock }: Dependencies) {
  let mayBeHeldUp = true
  let mustSeeAll = true
  let lastLookAt = 0
  let lookedWideAt: MonotonicMs | undefined
  let sawAllAt: MonotonicMs | undefined
  return {
    /** Makes one of the next looks a wide one. */
    want: () => {
      mayBeHeldUp = true
    },
    /** Forgets what the looks so far have seen. */
    restart: () => {
      mayBeHeldUp = true
      mustSeeAll = true
    },
    /** Returns the jobs that may have become due since the last call, and at times others that are due. */
    listDue: async (now: number, limit: number): Promise<readonly JobId[]> => {
      if (now < lastLookAt) {
        mayBeHeldUp = true
        mustSeeAll = true
      }
      if (mayBeHeldUp && elapsedSince(clock, lookedWideAt) >= wideLookMs) {
        const all = await store.listDue('effect', Number.MAX_SAFE_INTEGER, maxWaiting)
        mayBeHeldUp = false
        lookedWideAt = clock.monotonic()
        return all
      }
      const isOfAll = mustSeeAll || elapsedSince(clock, sawAllAt) >= lookAgainMs
      const from = isOfAll ? 0 : lastLookAt - lateMs
      const due = await store.listDue('effect', now, limit, from)
      lastLookAt = now
      mustSeeAll = due.length >= limit
      if (isOfAll) sawAllAt = clock.monotonic()
      return due
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

/** The jobs with effects that wait for the chain, and when to look at them again. `room` says how many more may ask the chain. */
function createWaiting(
  { clock }: Dependencies,
  commits: ReturnType<typeof createCommits>,
  room: () => number,
) {
  // The jobs with effects that wait until fewer ask the chain, in the order in which they came.
  const putOff = new Set<JobId>()
  const since = clock.monotonic()
  let again = createDueList()
  const size = () => commits.size + putOff.size
  const has = (id: JobId): boolean => commits.has(id) || putOff.has(id)
  return {
    has,
    get size() {
      return size()
    },
    /** Notes what a look found: whether the job has effects that are put off, and when another of its effects is due. */
    note: (id: JobId, isPutOff: boolean, nextMs: number) => {
      if (!isPutOff) putOff.delete(id)
      else if (putOff.size < maxPutOff) putOff.add(id)
      const waitMs = has(id)
        ? Math.min(nextMs, Math.max(lookAgainMs, size() * lookAgainEachMs))
        : nextMs
      const at = elapsedSince(clock, since) + waitMs
      again.set(id, at < Number.POSITIVE_INFINITY ? at : undefined)
    },
    /** Has a job looked at now: what was tried may be due again while another of its effects hides it from the looks. */
    soon: (id: JobId) => again.set(id, elapsedSince(clock, since)),
    /** Takes the jobs to look at again now. */
    take: (): readonly JobId[] => {
      const now = elapsedSince(clock, since)
      const ended = again.until(now, batchSize)
      // A job that cannot be read now is looked at later.
      for (const id of ended) again.set(id, has(id) ? now + lookAgainMs : undefined)
      const free = putOff.size > 0 ? [...putOff].slice(0, Math.max(0, room())) : []
      const ids = [...free, ...ended]
      for (const id of free) putOff.delete(id)
      return ids
    },
    clear: () => {
      putOff.clear()
      again = createDueList()
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
  const turns = createSlotTurns(deps.clock, deps.limits.slotWaitMs)
  const underWay = new Set<string>()
  const waiting = createWaiting(deps, commits, () => maxUnderWay - chainWork.size)
  let lastTerm: AbortSignal | undefined
  const outboxes = createLooks(deps)

  const startJob = async (id: JobId, now: number, term: AbortSignal) => {
    const job = await outboxes.find(id)
    if (!job) return waiting.note(id, false, Number.POSITIVE_INFINITY)
    let isHidden = false
    let nextMs = Number.POSITIVE_INFINITY
    const together: PendingEffect[] = []
    let result: number | undefined
    let isPutOff = false
    for (const pending of job.outbox) {
      const { id: effectId, effect } = pending
      if (!isDue(job, pending, now)) {
        nextMs = Math.min(nextMs, pending.dueAt - now)
        continue
      }
      isHidden = true
      // Until its result is saved, no look at what is due shows it.
      if (pending.dueAt > now) outboxes.want()
      if (commits.isDone(id, effectId) || underWay.has(nameOf(id, effectId))) continue
      if (effect.type === 'commit-result') result = effectId
      else if (effect.type === 'notify') notices.add(job, effectId, term)
      else if (asksChain(job, pending) && chainWork.size >= maxUnderWay) isPutOff = true
      else together.push(pending)
    }
    const others = together.length === 0 ? Promise.resolve() : deliver(job, together, term)
    if (result !== undefined) commits.add(id, { effectId: result, others })
    // Without a due effect the job is listed once one is due.
    waiting.note(id, isPutOff, isHidden ? nextMs : Number.POSITIVE_INFINITY)
  }
  const deliver = (job: Job, together: readonly PendingEffect[], term: AbortSignal) => {
    const { id } = job
    const effectIds = together.map((pending) => pending.id)
    const { noteLater } = commits
    // An effect that was let go may run again, in another piece of work.
    const held = new Set(effectIds)
    const letGo = (some: readonly number[]) => {
      for (const effectId of some) if (held.delete(effectId)) underWay.delete(nameOf(id, effectId))
      waiting.soon(id)
    }
    const pieces = together.some((one) => asksChain(job, one)) ? chainWork : work
    return pieces.start(nameOf(id, ...effectIds), async () => {
      for (const effectId of effectIds) underWay.add(nameOf(id, effectId))
      try {
        await deliverEffects(deps, id, effectIds, {
          ...{ term, offers, turns, noteLater },
          onNoted: letGo,
        })
      } finally {
        letGo(effectIds)
      }
    })
  }
  return {
    /** Starts the effects that are due and do not run yet. */
    startDue: async () => {
      const term = leadership.term()
      if (term !== lastTerm) {
        commits.clear()
        waiting.clear()
        lastTerm = term
        outboxes.restart()
      }
      if (!term || work.size >= maxUnderWay) return
      const now = deps.clock.now()
      const started = [work, chainWork].reduce((sum, { size, failed }) => sum + size + failed, 0)
      const held = waiting.size + looks.failed + notices.size
      const due = await outboxes.listDue(now, batchSize + started + held)
      const ids = new Set([...due.filter((id) => !waiting.has(id)), ...waiting.take()])
      // A job that cannot be read must not hold up the others.
      await Promise.all(
        [...ids].map((id) => looks.start(`effects of ${id}`, () => startJob(id, now, term))),
      )
      commits.start(term)
    },
    /** Resolves once no effect runs. */
    idle: async () => {
      await Promise.all([work, chainWork, commits, notices].map((one) => one.idle()))
    },
  }
}
