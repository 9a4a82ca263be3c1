import { readCommandLine, refuseOptions } from '../command-line.ts'
import { type BenchmarkName, benchmarkNames, everydayNames } from './all.ts'
import type { Form } from './benchmark.ts'

/** What the command line asks for. */
export type BenchOptions = {
  readonly names: readonly BenchmarkName[]
  readonly form: Form
  readonly json: boolean
  /** Runs the one benchmark in this process and prints its findings as JSON: what the command does with each. */
  readonly isAlone: boolean
  /** Whether the page is written. */
  readonly writes: boolean
}

const isName = (name: string): name is BenchmarkName =>
  (benchmarkNames as readonly string[]).includes(name)

const usage = `npm run bench -- [--only NAME,...] [--long] [--json]

Measures, prints tables, and writes docs/benchmarks.md unless --only is given.

  --only NAME,...  ${benchmarkNames.join(', ')}
  --long           takes longer and finds steadier numbers
  --json           prints every number on one line
`

/** Reads the command line. */
export function readBenchOptions(): BenchOptions {
  const values = readCommandLine(usage, {
    only: { type: 'string' },
    long: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    // One benchmark in this process, as the command starts each of them.
    alone: { type: 'boolean', default: false },
  })
  const names = values.only?.split(',') ?? everydayNames
  const unknown = names.filter((name) => !isName(name))
  if (unknown.length > 0) {
    refuseOptions(`--only takes ${benchmarkNames.join(', ')}, not ${unknown.join(', ')}`)
  }
  const form = values.long ? 'long' : 'short'
  return {
    names: names.filter(isName),
    form,
    json: values.json,
    isAlone: values.alone,
    // A page of a part would pass for the whole.
    writes: values.only === undefined,
  }
}
