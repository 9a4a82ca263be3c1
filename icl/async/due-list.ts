import type { JobId } from '../../lib/codecs.ts'
import { firstIndex } from '../../lib/first-index.ts'

type Position = { readonly at: number; readonly id: string }
type Due = Position & { readonly id: JobId }

/** Orders by time, then by id. */
export const byTime = (a: Position, b: Position): number =>
  a.at - b.at || (a.id < b.id ? -1 : Number(a.id > b.id))

/** A list of jobs in the order of their times. */
export type DueList = ReturnType<typeof createDueList>

/** Creates a list of jobs in the order of the times at which they are due. */
export function createDueList() {
  const times = new Map<JobId, number>()
  const list: Due[] = []
  const placeOf = (position: Position): number =>
    firstIndex(list.length, (index) => byTime(list[index] as Due, position) >= 0)
  return {
    /** Sets or removes a job's time. */
    set: (id: JobId, at: number | undefined): void => {
      const before = times.get(id)
      if (before === at) return
      if (before !== undefined) list.splice(placeOf({ at: before, id }), 1)
      if (at === undefined) times.delete(id)
      else {
        times.set(id, at)
        list.splice(placeOf({ at, id }), 0, { at, id })
      }
    },
    /** Returns the jobs that are due, but not before `from`, the longest overdue first. */
    until: (now: number, limit: number, from = 0): JobId[] => {
      const start = firstIndex(list.length, (index) => (list[index] as Due).at >= from)
      const end = firstIndex(list.length, (index) => (list[index] as Due).at > now)
      return list.slice(start, Math.min(end, start + limit)).map(({ id }) => id)
    },
    /** Yields the jobs before a position or all jobs, the latest first. The list must not change meanwhile. */
    *before(position?: Position): Generator<JobId> {
      for (let place = position ? placeOf(position) : list.length; place > 0; place--) {
        yield (list[place - 1] as Due).id
      }
    },
    /** Counts the jobs at or after a time. */
    countFrom: (at: number): number =>
      list.length - firstIndex(list.length, (index) => (list[index] as Due).at >= at),
    get size() {
      return list.length
    },
  }
}
