import type { ProjectCopy } from './copy-project.ts'
import type { PlantedBug } from './planted-bug.ts'
import { runTests } from './run-tests.ts'

/** What came of one planted bug. */
export type Finding = {
  readonly bug: PlantedBug
  /** The first test that failed with the bug; undefined when none did. */
  readonly caughtBy: { readonly file: string; readonly name: string } | undefined
  /** Why nothing can be said: the tests did not load or did not end, or were all skipped. */
  readonly trouble: string | undefined
  readonly seconds: number
}

/** Plants a bug in the copy and looks which of its tests fails first; a file that does not load catches nothing. */
export const catchBug = (copy: ProjectCopy, bug: PlantedBug): Promise<Finding> =>
  copy.withBug(bug, async () => {
    const { failure, trouble, seconds } = await runTests(copy.folder, bug.tests)
    return { bug, caughtBy: failure, trouble, seconds }
  })
