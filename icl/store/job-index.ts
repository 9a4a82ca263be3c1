import type { Address } from '../../lib/codecs.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { isSettled, type Job, occupiesSlot } from '../rules/job.ts'
import type { OccupiedSlots } from './store.ts'

/** A slot of a node that a job occupies. */
export type OccupiedSlot = { readonly node: Address; readonly status: 'offered' | 'claimed' }

/** The fields that stores index a job by; times in milliseconds. */
export type JobIndex = {
  readonly client: Address
  readonly phase: JobPhase
  readonly createdAt: number
  readonly settledAt: number | undefined
  readonly tickAt: number | undefined
  /** When the job's first effect is due; undefined when all effects are delivered. */
  readonly effectsDueAt: number | undefined
  readonly effects: number
  /** Slots of nodes that the job occupies; none once the job has settled. */
  readonly occupied: readonly OccupiedSlot[]
}

/** Computes the index fields of a job, for all stores alike. */
export function indexOfJob(job: Job): JobIndex {
  const settled = isSettled(job.phase)
  const { client, phase, createdAt, outbox } = job
  return {
    client,
    phase,
    createdAt,
    settledAt: settled ? (job.settledAt ?? createdAt) : undefined,
    tickAt: settled ? undefined : job.tickAt,
    effectsDueAt: outbox.length > 0 ? Math.min(...outbox.map(({ dueAt }) => dueAt)) : undefined,
    effects: outbox.length,
    occupied: settled
      ? []
      : job.assignments.flatMap(({ node, status }) =>
          occupiesSlot(status) ? [{ node, status: status === 'offered' ? status : 'claimed' }] : [],
        ),
  }
}

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
