import { bugsInDaemon } from './bugs-in-daemon.ts'
import { bugsInOperations } from './bugs-in-operations.ts'
import { bugsInRules } from './bugs-in-rules.ts'
import { bugsInStore } from './bugs-in-store.ts'
import type { PlantedBug } from './planted-bug.ts'

/** Every mistake that the tests have to find. */
export const plantedBugs: readonly PlantedBug[] = [
  ...bugsInRules,
  ...bugsInStore,
  ...bugsInOperations,
  ...bugsInDaemon,
]
