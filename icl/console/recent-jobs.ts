/*
 * Problem: any number of viewers watch the newest jobs, and must not overload the store. A job must be found by its public
 * ref, from which its id cannot be computed.
 *
 * Idea: one cache of the newest jobs, in their public form, for all viewers of the process. The first look reads the
 * newest jobs, later looks read only what changed, at most once a second. Each change has a number, and a viewer asks
 * for what changed after the number that it knows.
 *
 * Invariants:
 * - The store is not read while no viewer looks. After a minute without a look everything is read anew.
 * - Readers never see half of a change: the public forms are made first, and then stored together.
 * - At most 5,000 jobs are kept. Every job that settled since wholeSince is among them.
 * - The cursor of changes is taken before the jobs are read, so that no save in between is missed.
 *
 * Failure cases: when the store fails, the look throws its error, and the cursor stays. When more than 500 jobs changed at
 * once, everything is read anew, and a viewer with an earlier number gets all kept jobs.
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
/** Jobs that the first look reads at least, however old, so that viewers can find them by ref. */
const leastLoaded = 500
const mostLoaded = 2_000
const mostKept = 5_000
const mostChanges = 500
/** The period that the console shows: an hour, and up to a minute before it, because it counts whole minutes. */
const shownMs = 3_660_000
/** Every job that settled within `shownMs` was created within this time. */
const cachedMs = shownMs + jobMs

type Entry = { readonly job: ConsoleJob; readonly createdAt: number; readonly change: number }

/** The newest jobs in their public form, for all viewers of this process. */
export type RecentJobs = ReturnType<typeof createRecentJobs>

/** Creates an empty cache, which reads nothing until the first look. */
export function createRecentJobs({ store, clock, keys }: Dependencies) {
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
    // A job settles within `jobMs`. So every job that settled later than `jobMs` after the oldest job's creation was read.
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
      const jobs = await Promise.all(ids.map(async (id) => (await store.findJob(id))?.document))
      await kept.change(ids, jobs)
    }
    cursor = next
  }
  const lookAfresh = async () => {
    // Without a cursor, jobs are loaded anew until that succeeds.
    if (didLose || elapsedSince(clock, seenAt) > staleMs) cursor = undefined
    didLose = false
    if (cursor === undefined) await loadAnew()
    else await follow(cursor)
    seenAt = clock.monotonic()
  }
  return {
    /** Updates the jobs, with at most one look at the store a second. Throws what the store throws. */
    look: (): Promise<void> => {
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

/** Returns the newest 500 jobs at least, and all jobs since `since`, but at most 2,000. */
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
  // Makes all public forms before any is stored: a reader would take a part of a change for all of it.
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
    /** Stores the current state of changed jobs; undefined for a job that was deleted. */
    change: async (changed: readonly JobId[], jobs: readonly (Job | undefined)[]) => {
      const shown = await shownOf(jobs.filter((job) => job !== undefined))
      change += 1
      // Changes that do not show are no news: their number would reveal whether the answers of a running job agree.
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
      /** Returns the number of the last change. */
      changeNow: () => change,
      /** Returns the jobs that changed after `known`, in the order of their changes. */
      since: (known: number): readonly ConsoleJob[] =>
        [...entries.values()].flatMap((entry) => (entry.change > known ? [entry.job] : [])),
      all: (): readonly ConsoleJob[] => Array.from(entries.values(), ({ job }) => job),
      idOf: (ref: string) => ids.get(ref),
      /** Returns the time (milliseconds) from which on every job that settled is here. */
      wholeSince: () => wholeSince,
    },
  }
}
