import type { Address } from '../../lib/codecs.ts'
import { isSettled, type Job, occupiesSlot } from '../rules/job.ts'
import type { OccupiedSlots } from './store.ts'

/** A slot of a node that a job occupies. */
export type OccupiedSlot = { readonly node: Address; readonly status: 'offered' | 'claimed' }

/** Returns the fields that stores index a job by; times in milliseconds. */
export function indexOfJob(job: Job) {
  const { client, phase, createdAt, outbox } = job
  const settled = isSettled(phase)
  return {
    client,
    phase,
    createdAt,
    settledAt: settled ? (job.settledAt ?? createdAt) : undefined,
    tickAt: settled ? undefined : job.tickAt,
    /** When the job's first effect is due; undefined when all effects are delivered. */
    effectsDueAt: outbox.length > 0 ? Math.min(...outbox.map(({ dueAt }) => dueAt)) : undefined,
    effects: outbox.length,
    /** Slots of nodes that the job occupies; none once the job has settled. */
    occupied: settled ? [] : job.assignments.flatMap(slotOf),
  }
}

/** The index fields of a job. */
export type JobIndex = ReturnType<typeof indexOfJob>

const slotOf = ({ node, status }: Job['assignments'][number]): OccupiedSlot[] =>
  occupiesSlot(status) ? [{ node, status: status === 'offered' ? status : 'claimed' }] : []

/** Returns the nodes whose slots are offered, from the slots that a job occupies. */
export const offeredIn = (occupied: readonly OccupiedSlot[]): readonly Address[] =>
  occupied.flatMap(({ node, status }) => (status === 'offered' ? [node] : []))

/** Counts the occupied slots of each node, from single slots or from counts of slots. */
export function countSlots(
  slots: readonly (OccupiedSlot & { readonly count?: number })[],
): ReadonlyMap<Address, OccupiedSlots> {
  const counts = new Map<Address, OccupiedSlots>()
  for (const { node, status, count = 1 } of slots) {
    const known = counts.get(node) ?? { offered: 0, claimed: 0 }
    counts.set(node, { ...known, [status]: known[status] + count })
  }
  return counts
}
