import { createMirrorWorld } from './mirror-world.ts'
import { describeStore } from './suite.ts'

describeStore('mirror', () => createMirrorWorld().start())

describeStore('mirror (while its database is away)', async () => {
  const world = createMirrorWorld()
  const store = await world.start()
  world.connection.cut = 'before'
  return store
})

describeStore('mirror (started without its database)', () => {
  const world = createMirrorWorld()
  world.connection.cut = 'before'
  return world.start({ startEmpty: true })
})
