import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { assignmentOf, type Job } from '../rules/job.ts'

/** Longer than the pause after which a job looks again whether its node has a slot. */
const freshMs = 1_500
/** How long a job lets others go first. */
const patienceMs = 10_000

/** Whose turn it is when several jobs wait for a slot of a node, as far as this process knows. */
export type SlotTurns = {
  /** True while a job that comes back to its node has to let those go first that wait for their first slot there. */
  yields(job: Job, node: Address): boolean
  /** Notes that the job found no free slot at the node. */
  foundBusy(job: Job, node: Address): void
}

/** Makes the turns: jobs whose provider fails, and that try again, must not hold up the others. */
export function createSlotTurns(clock: Clock, slotWaitMs: number): SlotTurns {
  const awaited = new Map<Address, MonotonicMs>()
  const comesBack = ({ assignments }: Job, node: Address) =>
    assignments.filter((assignment) => assignment.node === node).length > 1
  return {
    yields(job, node) {
      if (!comesBack(job, node) || elapsedSince(clock, awaited.get(node)) > freshMs) return false
      const { deadline } = assignmentOf(job, node) ?? {}
      return deadline === undefined || clock.now() < deadline - slotWaitMs + patienceMs
    },
    foundBusy(job, node) {
      if (!comesBack(job, node)) awaited.set(node, clock.monotonic())
    },
  }
}
