import type { Address, JobId } from '../../lib/codecs.ts'

/** How much more can be taken on, without what the queue itself has let go ahead. */
export type Room = {
  /** Jobs that a client may still have. */
  ofClient(client: Address): Promise<number>
  /** Assignments that a node may still have, besides those that it is not offered yet. */
  ofNode(node: Address): Promise<number>
  /** The seated nodes of a job that are not offered their work yet. */
  seatedIn(job: JobId): Promise<readonly Address[]>
}

/** What the queue has let go ahead. */
type TakenOn = {
  readonly client: Address
  readonly seats: readonly Address[]
  /** Counts as one of its client's already. */
  readonly job?: JobId
}

/** Room as one look sees it: each client and node is asked about once, less what has gone ahead since. */
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
  // A job that is there counts among those of its client already.
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
    /** Whether a node has room but for what the queue has let go ahead. */
    hasAny: async (node: Address) => (await asked(nodes, node, room.ofNode)) > 0,
    /** Whether a node that was asked about has room left. */
    hasLeft: (node: Address) => (nodes.get(node) ?? 0) > (taken.nodes.get(node) ?? 0),
  }
}
