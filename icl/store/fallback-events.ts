import type { Address } from '../../lib/codecs.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { createMemoryStore } from './memory.ts'

const maxEvents = 100_000

/** The events of those nodes whose events were all read once; starts over when there are too many. */
export function createEventCache() {
  let events = createMemoryStore()
  const ids = new Set<string>()
  const whole = new Set<Address>()

  const makeRoom = (count: number) => {
    if (ids.size + count <= maxEvents) return
    events = createMemoryStore()
    ids.clear()
    whole.clear()
  }
  const put = (event: ReputationEvent) => {
    if (ids.has(event.id)) return
    ids.add(event.id)
    events.put({ kind: 'event', event })
  }
  return {
    note: (event: ReputationEvent): void => {
      makeRoom(1)
      put(event)
    },
    /** Takes all events that a node has; none is ever removed. */
    noteAll: (node: Address, all: readonly ReputationEvent[]): void => {
      if (all.length > maxEvents) return
      makeRoom(all.length)
      for (const event of all) put(event)
      whole.add(node)
    },
    has: (id: string): boolean => ids.has(id),
    /** True when nothing of this node's is missing. */
    isWhole: (node: Address): boolean => whole.has(node),
    list: (node: Address) => events.listReputationEvents(node),
    page: (...args: Parameters<typeof events.pageReputationEvents>) =>
      events.pageReputationEvents(...args),
  }
}

export type EventCache = ReturnType<typeof createEventCache>
