import { createBridgeWorld } from './bridge-world.ts'
import { describeStore } from './suite.ts'

describeStore('bridged (connected)', () => createBridgeWorld().start())

describeStore(
  'bridged (while its database is away)',
  async () => {
    const world = createBridgeWorld()
    const store = await world.start()
    world.connection.cut = 'before'
    // A save that finds the database away may have been done there, so it is judged by fewer conditions (bridge.test.ts).
    await store.ping()
    return store
  },
  { isAway: true },
)
