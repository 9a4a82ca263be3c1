import { afterEach } from 'vitest'
import {
  createReplica,
  createShared,
  joinNodes,
  type Shared,
  type TestIcl,
  type TestNode,
} from './test-icl.ts'

/** Replicas of the tests of one file; those that still run after a test are stopped. */
export function useReplicas() {
  let replicas: TestIcl[] = []
  afterEach(async () => {
    for (const replica of replicas) await replica.stop()
    replicas = []
  })
  const forget = (replica: TestIcl) => {
    replicas = replicas.filter((other) => other !== replica)
  }
  const start = async (shared: Shared, replicaId: string, changes: object = {}) => {
    const replica = await createReplica(shared, { replicaId, ...changes })
    replicas.push(replica)
    return replica
  }
  return {
    start,
    kill: (replica: TestIcl) => {
      replica.kill()
      forget(replica)
    },
    stop: (replica: TestIcl) => {
      forget(replica)
      return replica.stop()
    },
    /** Two replicas that have seen one another, the first of which leads, and nodes that joined at the first. */
    pair: async () => {
      const shared = createShared()
      const [a, b] = [await start(shared, 'a'), await start(shared, 'b')]
      await shared.clock.advance(6_000)
      const nodes = await joinNodes(a, 3)
      return { ...shared, a, b, nodes }
    },
  }
}

/** The same node, asking another replica. */
export const at = (replica: TestIcl, node: TestNode): TestNode => ({
  ...node,
  api: replica.api(node.signer),
})
