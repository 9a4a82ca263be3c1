// What a suite imports from vitest, where no test runner is: its tests become cases.
import { expect } from 'vitest'
import type { Case } from './case.ts'

export { expect }

type Work = () => unknown
type Scope = { readonly name: string; readonly before: Work[]; readonly after: Work[] }

const open: Scope[] = []
/** The tests of all suites so far. */
export const suiteCases: Case[] = []

export function describe(name: string, suite: () => void): void {
  open.push({ name, before: [], after: [] })
  suite()
  open.pop()
}
export const beforeEach = (work: Work) => void open.at(-1)?.before.push(work)
export const afterEach = (work: Work) => void open.at(-1)?.after.push(work)

export function it(name: string, test: Work): void {
  const scopes = [...open]
  suiteCases.push({
    name: [...scopes.map((scope) => scope.name), name].join(' > '),
    run: async () => {
      for (const work of scopes.flatMap(({ before }) => before)) await work()
      try {
        await test()
      } finally {
        for (const work of scopes.toReversed().flatMap(({ after }) => after)) await work()
      }
    },
  })
}
