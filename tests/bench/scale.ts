import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { type JobLoad, loadJobs } from './jobs.ts'
import { startFleet } from './load/fleet.ts'
import { holdPolls } from './load/held-polls.ts'
import { measurePickUps } from './pickup.ts'
import { linePlot } from './plot.ts'
import { fillFile } from './server/fill-file.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { spreadOf } from './spread.ts'
import { median } from './table.ts'

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Bytes of memory that a server needs more for each long-poll that it holds. */
async function measureMemory(kind: 'icl' | 'held', nodes: readonly NodeSigner[]): Promise<number> {
  const server = await startServer({ kind, databaseUrl: 'memory:', workers: true })
  try {
    if (kind === 'icl') await server.call('nodes', { nodes: entriesOf(nodes) })
    // What the first requests bring about once does not count.
    const first = await holdPolls(server.port, nodes.slice(0, 20))
    await sleep(200)
    const before = await server.call<Usage>('usageAfterCollection')
    const end = await holdPolls(server.port, nodes.slice(20))
    if (kind === 'icl') await untilHeld(() => server.call<number>('held'), nodes.length)
    else await sleep(500)
    const after = await server.call<Usage>('usageAfterCollection')
    end()
    first()
    return (after.residentBytes - before.residentBytes) / Math.max(nodes.length - 20, 1)
  } finally {
    await server.kill()
  }
}

async function untilHeld(count: () => Promise<number>, wanted: number): Promise<void> {
  for (let tries = 0; (await count()) < wanted; tries++) {
    if (tries > 600) throw new Error(`Only ${await count()} of ${wanted} polls are held`)
    await sleep(50)
  }
}

async function measurePickUp(nodes: readonly NodeSigner[], jobs: number, mostMs: number) {
  const server = await startServer({ kind: 'icl', databaseUrl: 'memory:', workers: true })
  try {
    await server.call('nodes', { nodes: entriesOf(nodes) })
    const { claimed, stop } = await measurePickUps(server.port, nodes, jobs, mostMs)
    stop()
    return spreadOf(claimed)
  } finally {
    await server.stop()
  }
}

type HistoryPlan = {
  readonly sizes: readonly number[]
  readonly rounds: number
  readonly jobs: number
  readonly mostMs: number
}

const historyNodes = 300

/** What one more job costs on files that hold more and more of them, in turn. */
async function measureHistory(
  plan: HistoryPlan,
  say: (progress: string) => void,
): Promise<ReadonlyMap<number, JobLoad>> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-history-'))
  const roster = await createRoster(Math.min(historyNodes, 3 * (plan.sizes.at(-1) ?? 1)))
  const ends: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })]
  try {
    const files = []
    for (const size of plan.sizes) {
      say(`writing ${size.toLocaleString('en')} jobs`)
      const file = join(folder, `${size}.db`)
      await fillFile(file, { jobs: size, nodes: roster, isSettled: true })
      const server = await startServer({
        kind: 'icl',
        databaseUrl: `sqlite:${file}`,
        workers: true,
      })
      ends.push(() => server.stop())
      await server.call('nodes', { nodes: entriesOf(roster) })
      const fleet = await startFleet({ port: server.port, nodes: roster, works: true })
      ends.push(async () => fleet.stop())
      files.push({ size, server, fleet, loads: [] as JobLoad[] })
    }
    say('jobs on top of them')
    const load = { workers: 8, jobs: plan.jobs, mostMs: plan.mostMs }
    for (let round = 0; round <= plan.rounds; round++) {
      for (const { server, fleet, loads } of round % 2 === 0 ? files : files.toReversed()) {
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
  jobs: loads.reduce((sum, { jobs }) => sum + jobs, 0),
})

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const plan = byForm(form, {
    short: {
      waiting: [1_000, 5_000, 15_000],
      jobs: 40,
      mostMs: 4_000,
      history: { sizes: [1_000, 100_000], rounds: 2, jobs: 150, mostMs: 3_000 },
    },
    long: {
      waiting: [1_000, 5_000, 15_000],
      jobs: 400,
      mostMs: 60_000,
      history: {
        sizes: [1_000, 10_000, 100_000, 1_000_000],
        rounds: 5,
        jobs: 1_000,
        mostMs: 30_000,
      },
    },
  })
  const roster = await createRoster(plan.waiting.at(-1) ?? 0)
  const waiting = []
  for (const count of plan.waiting) {
    say(`${count.toLocaleString('en')} waiting nodes`)
    const nodes = roster.slice(0, count)
    waiting.push({
      count,
      icl: (await measureMemory('icl', nodes)) / 1024,
      bare: (await measureMemory('held', nodes)) / 1024,
      pickUp: await measurePickUp(nodes, plan.jobs, plan.mostMs),
    })
  }
  return findingsOf(waiting, await measureHistory(plan.history, say))
}

type Waiting = {
  readonly count: number
  readonly icl: number
  readonly bare: number
  readonly pickUp: ReturnType<typeof spreadOf>
}

function findingsOf(waiting: readonly Waiting[], history: ReadonlyMap<number, JobLoad>): Findings {
  const figures: Record<string, number> = {}
  for (const { count, icl, bare, pickUp } of waiting) {
    figures[`waiting_${count}_icl_kib`] = icl
    figures[`waiting_${count}_bare_kib`] = bare
    figures[`waiting_${count}_pickup_p50_ms`] = pickUp.p50
    figures[`waiting_${count}_pickup_p99_ms`] = pickUp.p99
  }
  for (const [size, { cpuMs, perSecond }] of history) {
    figures[`history_${size}_job_cpu_ms`] = cpuMs
    figures[`history_${size}_jobs_per_second`] = perSecond
  }
  const sizes = [...history.keys()]
  const costOf = (size: number | undefined) => history.get(size ?? 0)?.cpuMs ?? Number.NaN
  const growth = costOf(sizes.at(-1)) / costOf(sizes[0])
  figures.history_growth = growth
  const most = waiting.at(-1)
  return {
    method: `Memory is what is resident after a collection, with all polls held, less what was with 20, for each poll. Beside it the same for a bare Bun.serve that never answers. Pick-ups are those of the benchmark above, in memory. For the history, files are filled with settled jobs and the events of ${historyNodes} nodes, and then the same load runs on all of them in turn; the cost is the processor time of the ICL for a job.`,
    tables: [
      {
        title: 'Waiting nodes',
        rows: [
          ['waiting nodes', 'KiB for each', 'bare Bun.serve', 'pick-up 50 %', '99 %'],
          ...waiting.map(({ count, icl, bare, pickUp }) => [
            count.toLocaleString('en'),
            icl.toFixed(1),
            bare.toFixed(1),
            `${pickUp.p50.toFixed(1)} ms`,
            `${pickUp.p99.toFixed(1)} ms`,
          ]),
        ],
      },
      {
        title: 'A job as the history grows (sqlite)',
        rows: [
          ['stored jobs', 'processor time for a job', 'jobs a second'],
          ...[...history].map(([size, { cpuMs, perSecond }]) => [
            size.toLocaleString('en'),
            `${cpuMs.toFixed(2)} ms`,
            perSecond.toFixed(0),
          ]),
        ],
      },
    ],
    figures,
    goals: [
      {
        what: `memory of a waiting node, ${most?.count.toLocaleString('en')} of them`,
        found: most?.icl ?? Number.NaN,
        unit: 'KiB',
        limit: 10,
        better: 'lower',
        heldBackBy:
          'what a held request keeps besides its connection: its Request with headers and signal, the context of the application, a timer and three promises',
      },
      {
        what: `cost of a job with ${sizes.at(-1)?.toLocaleString('en')} stored jobs, of that with ${sizes[0]?.toLocaleString('en')}`,
        found: growth,
        unit: 'x',
        limit: 1.2,
        better: 'lower',
        heldBackBy: 'scoring a node reads all its events again; larger indexes',
      },
    ],
    plots: [
      {
        name: 'scale-memory',
        title: 'Memory of a waiting node',
        svg: linePlot(
          'Memory of a waiting node',
          { x: 'waiting nodes', y: 'KiB' },
          [
            { name: 'ICL', points: waiting.map(({ count, icl }) => [count, icl]) },
            { name: 'bare Bun.serve', points: waiting.map(({ count, bare }) => [count, bare]) },
          ],
          10,
        ),
      },
      {
        name: 'scale-history',
        title: 'Processor time of a job as the history grows',
        svg: linePlot(
          'Processor time of a job as the history grows',
          { x: 'stored jobs', y: 'ms' },
          [{ name: 'sqlite', points: [...history].map(([size, { cpuMs }]) => [size, cpuMs]) }],
        ),
      },
    ],
    skipped: [],
  }
}

export const scale: Benchmark = { title: 'Scale', run }
