// A test runner for Stryker that keeps the tests loaded: each mutant costs only the tests that reach it, not the start of a worker.
import { globSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CollectedTest } from './collected-tests.ts'
import { mutationTests, notForMutants } from './test-files.ts'

/** Where the instrumented code looks which mutant is on, and counts. */
type Mutants = {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number
  hitLimit?: number | undefined
  mutantCoverage?: unknown
}

type MutantRun = {
  readonly activeMutant: { readonly id: string }
  readonly sandboxFileName: string
  readonly testFilter?: readonly string[]
  readonly hitLimit?: number
  readonly mutantActivation: 'static' | 'runtime'
}

const mutants = (): Mutants => {
  const host = globalThis as { __stryker__?: Mutants }
  host.__stryker__ ??= {}
  return host.__stryker__
}

type Tests = {
  readonly collected: readonly CollectedTest[]
  readonly runTest: (test: CollectedTest) => Promise<Error | undefined>
  readonly collectFile: (path: string) => Promise<void>
}

async function loadTests(): Promise<Tests> {
  const shim = pathToFileURL(join(process.cwd(), 'tests/mutation/collected-tests.ts')).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'vitest' && context.parentURL !== shim
        ? { url: shim, shortCircuit: true }
        : next(specifier, context),
  })
  const tests: Tests = await import(shim)
  for (const file of globSync([...mutationTests], { exclude: [...notForMutants] }).toSorted()) {
    await tests.collectFile(join(process.cwd(), file))
  }
  return tests
}

/** How long a test may take that took `usualMs` without a mutant: a wait that never ends costs no more, and not a new process either. */
const limitOf = (usualMs: number): number => 10_000 + 5 * usualMs

const isLate = Symbol('late')
/** What `work` gives, or `isLate` after `ms`. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | typeof isLate> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<typeof isLate>((resolve) => {
    timer = setTimeout(() => resolve(isLate), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function createRunner() {
  let tests: Tests
  // By test, in milliseconds; a process that takes over from one that was ended learns them anew.
  const times = new Map<string, number>()
  const run = async (test: CollectedTest) => {
    mutants().currentTestId = test.id
    const startedAt = performance.now()
    const failure = await tests.runTest(test)
    mutants().currentTestId = undefined
    const timeSpentMs = performance.now() - startedAt
    if (!times.has(test.id)) times.set(test.id, timeSpentMs)
    return { failure, timeSpentMs }
  }
  return {
    // A mutant is on only while a test runs, never while a file is loaded: nothing needs to be loaded anew for it.
    capabilities: () => ({ reloadEnvironment: true }),
    init: async () => {
      tests = await loadTests()
    },
    dryRun: async () => {
      const results = []
      for (const test of tests.collected) {
        const { failure, timeSpentMs } = await run(test)
        const { id, name, file: fileName } = test
        const seen = { id, name, fileName, timeSpentMs }
        results.push(
          failure
            ? { ...seen, status: 1, failureMessage: failure.message }
            : { ...seen, status: 0 },
        )
      }
      return { status: 'complete', tests: results, mutantCoverage: mutants().mutantCoverage }
    },
    mutantRun: async (options: MutantRun) => {
      if (options.mutantActivation === 'static') throw new Error('Static mutants are left out')
      const wanted = options.testFilter && new Set(options.testFilter)
      const isRule = relative(process.cwd(), options.sandboxFileName).startsWith('icl')
      // What takes least comes first: most mutants are found by the first tests.
      const chosen = tests.collected
        .filter(({ id }) => wanted?.has(id) ?? true)
        .filter(({ file }) => !isRule || file.includes('tests/icl/rules/'))
        .toSorted((a, b) => (times.get(a.id) ?? 0) - (times.get(b.id) ?? 0))
      const state = mutants()
      for (const [index, test] of chosen.entries()) {
        Object.assign(state, { activeMutant: options.activeMutant.id, hitLimit: options.hitLimit })
        state.hitCount = index === 0 ? 0 : (state.hitCount ?? 0)
        const limit = limitOf(times.get(test.id) ?? 0)
        const outcome = await within(limit, run(test))
        const hits = state.hitCount
        Object.assign(state, { activeMutant: undefined, hitLimit: undefined })
        if (options.hitLimit !== undefined && hits > options.hitLimit) {
          return { status: 'timeout', reason: `Hit limit reached (${hits})` }
        }
        if (outcome === isLate) {
          return { status: 'timeout', reason: `${test.id} took more than ${Math.round(limit)} ms` }
        }
        const { failure } = outcome
        if (!failure) continue
        // A mutant must leave nothing behind: what fails without it, too, would say nothing of the next.
        const again = await run(test)
        if (again.failure)
          throw new Error(`${test.id} fails without the mutant: ${again.failure.message}`)
        return {
          status: 'killed',
          killedBy: [test.id],
          failureMessage: failure.message,
          nrOfTests: index + 1,
        }
      }
      return { status: 'survived', nrOfTests: chosen.length }
    },
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'in-process', factory: createRunner }]
