import type { Address, JobId } from '../../lib/codecs.ts'
import { type Counts, createCounts } from '../async/counts.ts'
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

/** How many turns keep room of each client and node. It is kept up to date, because each look would count all turns again. */
export type Taken = Readonly<Record<'clients' | 'nodes', Counts<Address>>>

type Asked = { readonly room: number; readonly taken: number }

/** The room during one look. Asks about each client and node once, and subtracts what is taken and what has gone ahead since. */
export function countedRoom(room: Room, taken: Taken) {
  const clients = new Map<Address, Asked>()
  const nodes = new Map<Address, Asked>()
  const since: Taken = { clients: createCounts<Address>(), nodes: createCounts<Address>() }
  const asked = async (
    known: Map<Address, Asked>,
    key: Address,
    counts: Counts<Address>,
    ask: (key: Address) => Promise<number>,
  ) => {
    const before = known.get(key)
    if (before) return before
    // Counted before the store is asked: a job that is submitted meanwhile counts twice rather than not at all.
    const taken = counts.of(key)
    const found = { room: await ask(key), taken }
    known.set(key, found)
    return found
  }
  return {
    take: (client: Address, seats: readonly Address[]) => {
      since.clients.add(client, 1)
      for (const node of seats) since.nodes.add(node, 1)
    },
    ofClient: async (client: Address) => {
      const found = await asked(clients, client, taken.clients, room.ofClient)
      return found.room - found.taken - since.clients.of(client)
    },
    /** Whether a node has room, without regard to the draws that went ahead. */
    hasAny: async (node: Address) => (await asked(nodes, node, taken.nodes, room.ofNode)).room > 0,
    /** Whether a node has room left. Only for nodes that `hasAny` was asked about. */
    hasLeft: (node: Address) => {
      const found = nodes.get(node)
      return found !== undefined && found.room > found.taken + since.nodes.of(node)
    },
  }
}
