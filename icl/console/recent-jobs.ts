/*
 * Problem: any number of viewers watch the newest jobs. Reading the store for each of them would let strangers
 * load it as they like, and a job must be found by its public ref, from which its id cannot be computed.
 *
 * Idea: one memory of the newest jobs, as the public may see them, for all viewers of the process. A look reads
 * the newest jobs once, then only what changed, at most once a second however many ask. Each change has a number;
 * a viewer asks for what changed after the number that it knows.
 *
 * Invariants:
 * - Nothing is read while nobody looks. After a minute without a look everything is read anew.
 * - Readers never see half of a change: public forms are made first, and put in together.
 * - At most 5,000 jobs are kept. wholeSince says from when on every job that settled is among them, and moves
 *   forward when old ones are dropped.
 * - The cursor of changes is taken before the jobs are read: what is saved in between is read twice and not
 *   missed.
 *
 * Failure cases: when the store fails, the look throws as the store does, and the cursor stays where it was. When
 * more than 500 jobs changed at once, all is read anew, and earlier numbers get everything that is kept.
 */

import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import type { ConsoleJob } from '../../lib/schemas/console.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Job, jobMs } from '../rules/job.ts'
import type { Store } from '../store/store.ts'
import { publicJob } from './public-job.ts'

const lookMs = 1_000
const staleMs = 60_000
const pageSize = 100
const batchSize = 50
/** So many are read at first, so that each can be found by its ref, however old it is. */
const leastLoaded = 500
const mostLoaded = 2_000
const mostKept = 5_000
const mostChanges = 500
/** The minutes of an hour begin up to a minute before it. */
const shownMs = 3_660_000
/** Whatever settled within that time came within this. */
const cachedMs = shownMs + jobMs

type Entry = { readonly job: ConsoleJob; readonly createdAt: number; readonly change: number }

/** The newest jobs as everybody may see them, for all viewers of this process. */
export type RecentJobs = {
  /** Brings it up to date: one look at the store a second, however many ask; throws as the store does. */
  look(): Promise<void>
  /** Grows with every change. */
  changeNow(): number
  /** What changed after `change`, newest last. */
  since(change: number): readonly ConsoleJob[]
  all(): readonly ConsoleJob[]
  idOf(ref: string): JobId | undefined
  /** From when on (milliseconds) it has every job that settled. */
  wholeSince(): number
}

/** Remembers nothing until the first viewer, and begins anew after a minute without any. */
export function createRecentJobs({ store, clock, keys }: Dependencies): RecentJobs {
  const kept = createKept((job) => publicJob(keys, job))
  let cursor: string | undefined
  let seenAt: MonotonicMs | undefined
  let looking: Promise<void> | undefined
  let didLose = false
  store.commits.onLost(() => {
    didLose = true
  })
  const loadAnew = async () => {
    const start = await store.listChanges(undefined)
    const since = clock.now() - cachedMs
    const jobs = await newestJobs(store, since)
    const last = jobs.at(-1)
    // A job settles within `jobMs`: of all that settled later than that after the oldest that was read, none is missing.
    const wholeFrom = jobs.length >= mostLoaded && last ? Math.max(last.createdAt, since) : since
    await kept.replace(jobs, wholeFrom + jobMs)
    cursor = start.cursor
  }
  const follow = async (from: string) => {
    const { cursor: next, jobs } = await store.listChanges(from)
    const changed = [...new Set(jobs.map(({ id }) => id))]
    if (changed.length > mostChanges) return loadAnew()
    for (let at = 0; at < changed.length; at += batchSize) {
      const ids = changed.slice(at, at + batchSize)
      const found = await Promise.all(ids.map((id) => store.findJob(id)))
      await kept.change(
        ids,
        found.map((one) => one?.document),
      )
    }
    cursor = next
  }
  const lookAfresh = async () => {
    const isStale = didLose || elapsedSince(clock, seenAt) > staleMs
    didLose = false
    if (cursor === undefined || isStale) await loadAnew()
    else await follow(cursor)
    seenAt = clock.monotonic()
  }
  return {
    look: () => {
      if (looking) return looking
      if (elapsedSince(clock, seenAt) < lookMs) return Promise.resolve()
      looking = lookAfresh().finally(() => {
        looking = undefined
      })
      return looking
    },
    ...kept.reads,
  }
}

/** At least the newest 500 jobs, and all since `since`, but not more than 2,000. */
async function newestJobs(store: Store, since: number): Promise<readonly Job[]> {
  const jobs: Job[] = []
  for (;;) {
    const last = jobs.at(-1)
    const before = last && { at: last.createdAt, id: last.id }
    const page = await store.listJobs({ before, limit: pageSize })
    jobs.push(...page)
    const isOld = (page.at(-1)?.createdAt ?? since) <= since && jobs.length >= leastLoaded
    if (page.length < pageSize || isOld || jobs.length >= mostLoaded) return jobs
  }
}

const isSame = (one: ConsoleJob | undefined, other: ConsoleJob): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** What is remembered, at most 5,000 jobs. */
function createKept(show: (job: Job) => Promise<ConsoleJob>) {
  const entries = new Map<JobId, Entry>()
  const ids = new Map<string, JobId>()
  let change = 0
  let wholeSince = Number.NEGATIVE_INFINITY
  const forget = (id: JobId) => {
    const known = entries.get(id)
    if (known) ids.delete(known.job.ref)
    entries.delete(id)
  }
  const put = ({ id, createdAt }: Job, job: ConsoleJob) => {
    entries.set(id, { job, createdAt, change })
    ids.set(job.ref, id)
  }
  // All are made before any is put: a reader would take a part of a change for the whole of it.
  const shownOf = (jobs: readonly Job[]) =>
    Promise.all(jobs.map(async (job) => [job, await show(job)] as const))
  const trim = () => {
    if (entries.size <= mostKept) return
    const oldest = [...entries].sort(([, a], [, b]) => a.createdAt - b.createdAt)
    for (const [id, { createdAt }] of oldest.slice(0, entries.size - mostKept)) {
      wholeSince = Math.max(wholeSince, createdAt + jobMs)
      forget(id)
    }
  }
  return {
    replace: async (jobs: readonly Job[], since: number) => {
      const shown = await shownOf(jobs)
      entries.clear()
      ids.clear()
      change += 1
      wholeSince = since
      for (const [job, asShown] of shown) put(job, asShown)
    },
    /** The jobs with these ids as they are now; undefined where there is none any more. */
    change: async (changed: readonly JobId[], jobs: readonly (Job | undefined)[]) => {
      const shown = await shownOf(jobs.filter((job) => job !== undefined))
      change += 1
      // A change that nobody is shown is no news: how many there are would say whether the answers of a running job agree.
      const news = shown.filter(([{ id }, job]) => !isSame(entries.get(id)?.job, job))
      const left = new Set(shown.map(([{ id }]) => id))
      for (const id of changed) if (!left.has(id)) forget(id)
      for (const [job, asShown] of news) {
        forget(job.id)
        put(job, asShown)
      }
      trim()
    },
    reads: {
      changeNow: () => change,
      since: (known: number) =>
        [...entries.values()].flatMap((entry) => (entry.change > known ? [entry.job] : [])),
      all: () => Array.from(entries.values(), ({ job }) => job),
      idOf: (ref: string) => ids.get(ref),
      wholeSince: () => wholeSince,
    },
  }
}
