import { causes } from '../../lib/causes.ts'
import { type Assignment, isHeld, type Job } from './job.ts'

/** The positions on the list that never had a seat, in order. */
export function unseated({ list, assignments }: Job): readonly number[] {
  const had = new Set(assignments.map(({ position }) => position))
  return list.members.flatMap((_, position) => (had.has(position) ? [] : [position]))
}

/**
 * The assignments whose nodes may have a seat again, in the list's order: they gave their seats back for a cause that passes. A node that
 * has committed gets no other seat, because it would answer twice.
 */
export function returnable({ list, assignments }: Job): readonly Assignment[] {
  return list.members.flatMap((_, position) => {
    const own = assignments.filter((assignment) => assignment.position === position)
    const last = own.at(-1)
    const hasCommitted = own.some(({ commitment }) => commitment !== undefined)
    if (!last || isHeld(last.status) || hasCommitted) return []
    return last.reason !== undefined && causes[last.reason].passes ? [last] : []
  })
}

/** The positions on the list that could still have a seat. */
export const seatable = (job: Job): readonly number[] => [
  ...unseated(job),
  ...returnable(job).map(({ position }) => position),
]
