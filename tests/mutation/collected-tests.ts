// Stands in for `vitest` while test files are imported: collects what they declare, so that any test can be run at any time.
import { relative } from 'node:path'
import { expect as vitestExpect, vi as vitestVi } from 'vitest'

type Work = (...values: readonly unknown[]) => unknown

type Group = {
  readonly name: string
  readonly parent: Group | undefined
  readonly before: Work[]
  readonly after: Work[]
  readonly beforeAll: Work[]
  readonly afterAll: Work[]
}

/** A test that a file declares. */
export type CollectedTest = {
  /** Its file, its groups and its name; no other has the same. */
  readonly id: string
  readonly file: string
  readonly name: string
  readonly group: Group
  readonly work: Work
}

export const expect = vitestExpect
export const vi = vitestVi

/** Every test of the files that were imported, in order. */
export const collected: CollectedTest[] = []

const groupOf = (name: string, parent: Group | undefined): Group => ({
  ...{ name, parent, before: [], after: [], beforeAll: [], afterAll: [] },
})

let file = ''
let group = groupOf('', undefined)

/** Imports a file of tests. */
export async function collectFile(path: string): Promise<void> {
  file = path
  // The folder is another one at each run, and a test that has kept its name is known again.
  group = groupOf(relative(process.cwd(), path), undefined)
  await import(path)
}

const groupsOf = (one: Group): readonly Group[] =>
  one.parent ? [...groupsOf(one.parent), one] : [one]

const add = (name: string, work: Work): void => {
  const path = [...groupsOf(group).map((one) => one.name), name].join(' > ')
  const same = collected.filter(({ id }) => id === path || id.startsWith(`${path} #`)).length
  const id = same === 0 ? path : `${path} #${same + 1}`
  collected.push({ id, file, name: path, group, work })
}

const each =
  (declare: (name: string, work: Work) => void) =>
  (cases: readonly unknown[]) =>
  (name: string, work: Work): void => {
    for (const one of cases) {
      const values: readonly unknown[] = Array.isArray(one) ? one : [one]
      declare(name, () => work(...values))
    }
  }

const declareGroup = (name: string, work: Work): void => {
  const outer = group
  group = groupOf(name, outer)
  work()
  group = outer
}

const nothing = () => {}
export const describe = Object.assign(declareGroup, { each: each(declareGroup), skip: nothing })
export const it = Object.assign(add, { each: each(add), skip: nothing })
export const beforeEach = (work: Work): void => void group.before.push(work)
export const afterEach = (work: Work): void => void group.after.push(work)
export const beforeAll = (work: Work): void => void group.beforeAll.push(work)
export const afterAll = (work: Work): void => void group.afterAll.push(work)

/** Runs one test with all that its groups do before and after it; the error that it fails with, if it does. */
export async function runTest({ group: own, work }: CollectedTest): Promise<Error | undefined> {
  const groups = groupsOf(own)
  const inward = groups.flatMap((one) => [...one.beforeAll, ...one.before])
  const outward = groups.toReversed().flatMap((one) => [...one.after, ...one.afterAll])
  let failure: Error | undefined
  const attempt = async (step: Work) => {
    try {
      await step()
    } catch (error) {
      failure ??= error instanceof Error ? error : new Error(String(error))
    }
  }
  for (const step of inward) if (!failure) await attempt(step)
  if (!failure) await attempt(work)
  for (const step of outward) await attempt(step)
  return failure
}
