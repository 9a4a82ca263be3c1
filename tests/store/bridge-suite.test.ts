import { createBridgeWorld } from './bridge-world.ts'
import { describeStore } from './suite.ts'

describeStore('bridged (connected)', () => createBridgeWorld().start())

describeStore(
  'bridged (while its database is away)',
  async () => {
    const world = createBridgeWorld()
    const store = await world.start()
    world.connection.cut = 'before'
    return store
  },
  { isAway: true },
)
