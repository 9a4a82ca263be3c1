import type { Address, JobId } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import { countAssignments } from '../pool/load-pool.ts'
import { isSettled, occupiesSlot } from '../rules/job.ts'
import { currentAssignments } from '../rules/seats.ts'

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

/** The room for more work, without regard to the draws that the queue has let go ahead. */
export type Room = {
  /** How many more jobs a client may have. */
  ofClient(client: Address): Promise<number>
  /** How many more assignments a node may have. Assignments that are not offered yet do not count. */
  ofNode(node: Address): Promise<number>
  /** The seated nodes of a job whose work is not offered yet. */
  seatedIn(job: JobId): Promise<readonly Address[]>
}

type TakenOn = {
  readonly client: Address
  readonly seats: readonly Address[]
  /** Its job, once submitted. The job already counts among its client's. */
  readonly job?: JobId
}

/** The room during one look. Asks about each client and node once, and subtracts what has gone ahead since. */
export function countedRoom(room: Room, granted: readonly TakenOn[]) {
  const clients = new Map<Address, number>()
  const nodes = new Map<Address, number>()
  const takeOf = (counts: Map<Address, number>, key: Address) => {
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const taken = { clients: new Map<Address, number>(), nodes: new Map<Address, number>() }
  const take = (client: Address | undefined, seats: readonly Address[]) => {
    if (client) takeOf(taken.clients, client)
    for (const node of seats) takeOf(taken.nodes, node)
  }
  // A submitted job already counts among those of its client.
  for (const { client, seats, job } of granted) take(job ? undefined : client, seats)
  const asked = async (
    known: Map<Address, number>,
    key: Address,
    ask: (key: Address) => Promise<number>,
  ) => {
    const found = known.get(key) ?? (await ask(key))
    known.set(key, found)
    return found
  }
  return {
    take,
    ofClient: async (client: Address) =>
      (await asked(clients, client, room.ofClient)) - (taken.clients.get(client) ?? 0),
    /** Whether a node has room, without regard to the draws that went ahead. */
    hasAny: async (node: Address) => (await asked(nodes, node, room.ofNode)) > 0,
    /** Whether a node has room left. Only for nodes that `hasAny` was asked about. */
    hasLeft: (node: Address) => (nodes.get(node) ?? 0) > (taken.nodes.get(node) ?? 0),
  }
}
