import { backlog } from './backlog.ts'
import type { Benchmark } from './benchmark.ts'
import { binary } from './binary.ts'
import { gateway } from './gateway.ts'
import { growth } from './growth.ts'
import { icl } from './icl.ts'
import { jobs } from './jobs.ts'
import { million } from './million.ts'
import { pickup } from './pickup.ts'
import { queues } from './queues.ts'
import { recover } from './recover.ts'
import { replicas } from './replicas.ts'
import { scale } from './scale.ts'

/** Every benchmark by the name that `--only` takes, in the order in which they run. */
export const benchmarks = {
  icl,
  pickup,
  jobs,
  queues,
  replicas,
  scale,
  growth,
  backlog,
  million,
  gateway,
  recover,
  binary,
} as const satisfies Record<string, Benchmark>

export type BenchmarkName = keyof typeof benchmarks

/** The names, in the order in which they run. */
export const benchmarkNames = Object.keys(benchmarks) as BenchmarkName[]

/** Those that run when none is named: all but what takes minutes to prepare, or needs the whole service. */
export const everydayNames = benchmarkNames.filter(
  (name) => name !== 'million' && name !== 'gateway',
)
