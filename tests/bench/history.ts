import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Findings, Goal } from './benchmark.ts'
import { type JobLoad, loadJobs } from './jobs.ts'
import { startFleet } from './load/fleet.ts'
import { fillFile, multiplyFile } from './server/fill-file.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { startServer } from './server/server-process.ts'
import { median } from './table.ts'

/** Which files are measured, and how long. */
export type HistoryPlan = {
  readonly sizes: readonly number[]
  readonly rounds: number
  readonly jobs: number
  readonly mostMs: number
  /** Whether the results of the stored jobs wait for a block, and those of the load, too. */
  readonly waits?: boolean
}

/** Nodes that have the history. */
export const historyNodes = 300

const firstLooksMs = 40_000

/** More would take minutes to be made one by one. */
const mostFilled = 1_000

/** What one more job costs on files that hold more and more of them, in turn. */
export async function measureHistory(
  plan: HistoryPlan,
  say: (progress: string) => void,
): Promise<ReadonlyMap<number, JobLoad>> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-history-'))
  const roster = await createRoster(Math.min(historyNodes, 3 * (plan.sizes.at(-1) ?? 1)))
  const ends: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })]
  try {
    const fileOf = (size: number) => join(folder, `${size}.db`)
    for (const size of plan.sizes) {
      say(`writing ${size.toLocaleString('en')} jobs`)
      const file = fileOf(size)
      const jobs = plan.waits ? size : Math.min(size, mostFilled)
      await fillFile(file, { jobs, nodes: roster, isSettled: true, waits: plan.waits ?? false })
      if (size > jobs) multiplyFile(file, size / jobs)
    }
    const files = []
    for (const size of plan.sizes) {
      const server = await startServer({
        kind: 'icl',
        databaseUrl: `sqlite:${fileOf(size)}`,
        workers: true,
        stalls: plan.waits ?? false,
      })
      ends.push(() => server.stop())
      await server.call('nodes', { nodes: entriesOf(roster) })
      const fleet = await startFleet({ ports: [server.port], nodes: roster, works: true })
      ends.push(async () => fleet.stop())
      files.push({ size, server, fleet, loads: [] as JobLoad[] })
    }
    // The looks at many jobs that wait come a few at a time.
    if (plan.waits) await sleep(firstLooksMs)
    say('jobs on top of them')
    const load = { workers: 8, jobs: plan.jobs, mostMs: plan.mostMs }
    for (let round = 0; round <= plan.rounds; round++) {
      for (const { server, fleet, loads } of round % 2 === 0 ? files : files.toReversed()) {
        // They have to have been heard of lately.
        await server.call('nodes', { nodes: entriesOf(roster) })
        const found = await loadJobs(server, fleet, load)
        if (round > 0) loads.push(found)
      }
    }
    return new Map(files.map(({ size, loads }) => [size, middle(loads)]))
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

const middle = (loads: readonly JobLoad[]): JobLoad => ({
  perSecond: median(loads.map(({ perSecond }) => perSecond)),
  cpuMs: median(loads.map(({ cpuMs }) => cpuMs)),
  writtenBytes: median(loads.map(({ writtenBytes }) => writtenBytes)),
  jobs: loads.reduce((sum, { jobs }) => sum + jobs, 0),
})

type History = ReadonlyMap<number, JobLoad>

/** What one more job costs as the history grows. */
export const historyTable = (history: History): Findings['tables'][number] => ({
  title: 'A job as the history grows (sqlite)',
  rows: [
    ['stored jobs', 'processor time for a job', 'jobs a second'],
    ...[...history].map(([size, { cpuMs, perSecond }]) => [
      size.toLocaleString('en'),
      `${cpuMs.toFixed(2)} ms`,
      perSecond.toFixed(0),
    ]),
  ],
})

/** The same by name. */
export function historyFigures(history: History): Record<string, number> {
  const figures: Record<string, number> = { history_growth: growthOf(history) }
  for (const [size, { cpuMs, perSecond }] of history) {
    figures[`history_${size}_job_cpu_ms`] = cpuMs
    figures[`history_${size}_jobs_per_second`] = perSecond
  }
  return figures
}

const growthOf = (history: History): number => {
  const all = [...history.values()]
  return (all.at(-1)?.cpuMs ?? Number.NaN) / (all[0]?.cpuMs ?? Number.NaN)
}

/** A history may make a job dearer by this much at most. */
export function historyGoal(history: History): Goal {
  const sizes = [...history.keys()].map((size) => size.toLocaleString('en'))
  return {
    what: `cost of a job with ${sizes.at(-1)} stored jobs, of that with ${sizes[0]}`,
    found: growthOf(history),
    unit: 'x',
    limit: 1.15,
    better: 'lower',
    heldBackBy: 'deeper indexes, and pages that are no longer in the cache',
  }
}
