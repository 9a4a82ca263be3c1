import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { measureHistory } from './history.ts'

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const load = byForm(form, {
    short: { rounds: 3, jobs: 150, mostMs: 5_000 },
    long: { rounds: 7, jobs: 400, mostMs: 15_000 },
  })
  const sizes = [0, 1_000, 4_000]
  const found = [...(await measureHistory({ ...load, sizes, waits: true }, say))]
  const alone = found[0]?.[1].cpuMs ?? Number.NaN
  const most = found.at(-1)?.[1].cpuMs ?? Number.NaN
  return {
    method:
      'The same load runs in turn on files of settled jobs whose results wait for a block. The chain puts nothing into a block meanwhile, so that the results of the load wait, too.',
    tables: [
      {
        title: 'A job while others wait for a block (sqlite)',
        rows: [
          ['waiting jobs', 'processor time for a job', 'jobs a second'],
          ...found.map(([size, { cpuMs, perSecond }]) => [
            size.toLocaleString('en'),
            `${cpuMs.toFixed(2)} ms`,
            perSecond.toFixed(0),
          ]),
        ],
      },
    ],
    figures: Object.fromEntries([
      ['backlog_growth', most / alone],
      ...found.map(([size, { cpuMs }]) => [`backlog_${size}_job_cpu_ms`, cpuMs] as const),
    ]),
    goals: [
      {
        what: 'cost of a job with 4,000 that wait for a block, of that with none',
        found: most / alone,
        unit: 'x',
        limit: 1.1,
        better: 'lower',
        heldBackBy: 'documents of waiting jobs that no longer fit into the cache are read again',
      },
    ],
    skipped: [],
  }
}

export const backlog: Benchmark = { title: 'Jobs that wait for a block', run }
