import { nodeA, nodeB } from '../icl/rules/sample-job.ts'
import { createFallbackWorld } from './fallback-world.ts'
import { describeStore } from './suite.ts'

describeStore('fallback (connected)', () => createFallbackWorld().start())

describeStore(
  'fallback (while its database is away)',
  async () => {
    const world = createFallbackWorld()
    const store = await world.start()
    // Histories are known from then on when they are asked for.
    await store.listReputationEvents(nodeA)
    await store.listReputationEvents(nodeB)
    world.connection.cut = 'before'
    return store
  },
  { isAway: true },
)
