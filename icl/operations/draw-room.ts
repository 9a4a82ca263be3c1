import type { Dependencies } from '../dependencies.ts'
import { countAssignments } from '../pool/load-pool.ts'
import { isSettled, occupiesSlot } from '../rules/job.ts'
import { currentAssignments } from '../rules/seats.ts'
import type { Room } from './counted-room.ts'

/** A node may have as many jobs on their way to it as it runs: transactions and an upload come before an offer. */
const aheadFactor = 2

/** The room that nodes and the limits of clients leave for more jobs, by the store. */
export const drawRoom = ({ store, limits }: Dependencies): Room => ({
  ofClient: async (client) =>
    limits.maxJobsPerClient - (await store.countJobsOfClient(client, 'unsettled')),
  ofNode: async (address) => {
    const [found, jobs] = await Promise.all([
      store.findNode(address),
      store.listJobsOfNode(address),
    ])
    const capacity = found?.document.capacity ?? 0
    return aheadFactor * capacity - countAssignments(jobs, address, occupiesSlot)
  },
  seatedIn: async (id) => {
    const job = (await store.findJob(id))?.document
    if (!job || isSettled(job.phase)) return []
    return currentAssignments(job).flatMap(({ status, node }) =>
      status === 'awaiting-grant' ? [node] : [],
    )
  },
})
