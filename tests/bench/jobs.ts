import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { type Fleet, type JobTimes, startFleet } from './load/fleet.ts'
import { barPlot } from './plot.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { quantile, spreadOf } from './spread.ts'

/** What so many jobs took. */
export type JobLoad = {
  readonly perSecond: number
  /** Processor time of the ICL for one job, in milliseconds. */
  readonly cpuMs: number
  readonly jobs: number
}

let lastNonce = 0

/** Has clients submit one job after the other, `workers` of them at a time, until there were `jobs`, or `mostMs` are over. */
export async function loadJobs(
  server: ServerProcess,
  fleet: Fleet,
  {
    workers,
    jobs,
    mostMs,
  }: { readonly workers: number; readonly jobs: number; readonly mostMs: number },
): Promise<JobLoad> {
  let begun = 0
  let done = 0
  const before = await server.call<Usage>('usage')
  const startedAt = performance.now()
  const work = async (worker: number) => {
    while (begun < jobs && performance.now() - startedAt < mostMs) {
      begun += 1
      // Clients of their own: what one may have at once is not what is measured.
      const nonce = ++lastNonce
      await fleet.runJob(`worker ${worker} ${nonce % 16}`, 'settled')
      done += 1
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  const seconds = (performance.now() - startedAt) / 1000
  const after = await server.call<Usage>('usage')
  return {
    perSecond: done / seconds,
    cpuMs: (after.cpuMicros - before.cpuMicros) / 1000 / done,
    jobs: done,
  }
}

/** Milliseconds between the steps of one job that nothing else holds up. */
const phasesOf = (times: JobTimes) => {
  const last = (all: readonly number[]) => Math.max(...all)
  return {
    'preview and signature': times.submitted - times.previewed,
    submission: times.taken - times.submitted,
    'offers and claims': last(times.claimed) - times.taken,
    commitments: last(times.committed) - last(times.claimed),
    answers: last(times.revealed) - last(times.committed),
    delivery: times.delivered - last(times.revealed),
    verdicts: times.settled - times.delivered,
    'from submission to settled': times.settled - times.submitted,
  }
}

type Phases = ReturnType<typeof phasesOf>

async function measurePhases(
  fleet: Fleet,
  jobs: number,
  mostMs: number,
): Promise<readonly Phases[]> {
  const found: Phases[] = []
  const warmUp = Math.max(1, Math.floor(jobs / 4))
  const startedAt = performance.now()
  for (let count = 0; count < warmUp + jobs; count++) {
    if (count > warmUp && performance.now() - startedAt > mostMs) break
    const nonce = ++lastNonce
    const times = await fleet.runJob(`alone ${nonce % 16}`, 'settled')
    if (count >= warmUp) found.push(phasesOf(times))
  }
  return found
}

const planOf = (form: Form) =>
  byForm(form, {
    short: { nodes: 60, alone: 100, workers: 48, warmUp: 400, jobs: 3_000, mostMs: 6_000 },
    long: { nodes: 60, alone: 1_000, workers: 48, warmUp: 2_000, jobs: 50_000, mostMs: 180_000 },
  })

async function measure(form: Form, databaseUrl: string, flags: readonly string[] = []) {
  const { nodes, alone, warmUp, mostMs, ...load } = planOf(form)
  const roster = await createRoster(nodes)
  const server = await startServer({ kind: 'icl', databaseUrl, workers: true }, 'bun', flags)
  try {
    await server.call('nodes', { nodes: entriesOf(roster) })
    const fleet = await startFleet({ port: server.port, nodes: roster, works: true })
    try {
      const phases = await measurePhases(fleet, alone, mostMs)
      if (warmUp > 0) await loadJobs(server, fleet, { ...load, jobs: warmUp, mostMs })
      const loaded = await loadJobs(server, fleet, { ...load, mostMs })
      const { accepted = 0, ...others } = await server.call<Record<string, number>>('phases')
      if (accepted < loaded.jobs)
        throw new Error(`Only ${accepted} jobs were accepted: ${JSON.stringify(others)}`)
      return { phases, loaded }
    } finally {
      fleet.stop()
    }
  } catch (error) {
    throw new Error(`The jobs failed: ${server.log()}`, { cause: error })
  } finally {
    await server.stop()
  }
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-jobs-'))
  try {
    say('sqlite')
    const sqlite = await measure(form, `sqlite:${join(folder, 'icl.db')}`)
    say('memory')
    const memory = await measure(form, 'memory:')
    return findingsOf(form, sqlite, memory)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Found = Awaited<ReturnType<typeof measure>>

function findingsOf(form: Form, sqlite: Found, memory: Found): Findings {
  const { nodes, workers } = planOf(form)
  const figures: Record<string, number> = {}
  const phaseRows = [['milliseconds', 'sqlite 50 %', '99 %', 'memory 50 %', '99 %']]
  for (const name of Object.keys(sqlite.phases[0] ?? {}) as (keyof Phases)[]) {
    const [durable, other] = [sqlite, memory].map(({ phases }) =>
      spreadOf(phases.map((each) => each[name])),
    )
    if (!durable || !other) continue
    phaseRows.push([
      name.replaceAll('_', ' '),
      ...[durable.p50, durable.p99, other.p50, other.p99].map((value) => value.toFixed(2)),
    ])
    figures[`job_sqlite_${name.replaceAll(' ', '_')}_p50_ms`] = durable.p50
    figures[`job_sqlite_${name.replaceAll(' ', '_')}_p99_ms`] = durable.p99
    figures[`job_memory_${name.replaceAll(' ', '_')}_p50_ms`] = other.p50
    figures[`job_memory_${name.replaceAll(' ', '_')}_p99_ms`] = other.p99
  }
  const loadRows = [
    [
      '',
      'settled jobs a second',
      'processor time of the ICL for a job',
      'jobs for a core and second',
    ],
  ]
  for (const [name, { loaded }] of [
    ['sqlite', sqlite],
    ['memory', memory],
  ] as const) {
    loadRows.push([
      name,
      loaded.perSecond.toFixed(0),
      `${loaded.cpuMs.toFixed(2)} ms`,
      (1000 / loaded.cpuMs).toFixed(0),
    ])
    figures[`jobs_${name}_per_second`] = loaded.perSecond
    figures[`jobs_${name}_cpu_ms`] = loaded.cpuMs
    figures[`jobs_${name}_per_core_second`] = 1000 / loaded.cpuMs
  }
  const overhead = quantile(
    sqlite.phases.map((each) => each['from submission to settled']),
    0.5,
  )
  return {
    method: `${nodes} simulated nodes and their clients, in another process, talk to the ICL over HTTP: every request is a real one with its signature (a preview, a list, a submission, and for the three nodes polls, claims, commitments, answers, looks at the next step, a delivery and two verdicts: 24 requests). The provider answers at once and prompts are not decrypted; the chain answers at once. First one job at a time, then ${workers} clients at once. Both processes share the machine.`,
    tables: [
      { title: 'One job at a time: what coordination adds, by phase', rows: phaseRows },
      { title: `${workers} clients at once`, rows: loadRows },
    ],
    figures,
    goals: [
      {
        what: 'coordination of one job, from its submission until it has settled, median',
        found: overhead,
        unit: 'ms',
        limit: 15,
        better: 'lower',
        heldBackBy:
          'the chain of commits that have to follow one another, each with its fsync, and nodes that sign in one process beside the ICL',
      },
      {
        what: 'settled jobs a second on sqlite, all three nodes over HTTP',
        found: sqlite.loaded.perSecond,
        unit: 'jobs/s',
        limit: 500,
        better: 'higher',
        heldBackBy: `the ICL's one thread: a job takes ${sqlite.loaded.cpuMs.toFixed(1)} ms of it for 24 requests, 23 signatures and about 25 saves, and the nodes and clients need the other core`,
      },
    ],
    plots: [
      {
        name: 'jobs',
        title: 'Settled jobs a second',
        svg: barPlot(
          'Settled jobs a second',
          'jobs/s',
          [
            { name: 'sqlite', value: sqlite.loaded.perSecond },
            { name: 'memory', value: memory.loaded.perSecond },
          ],
          500,
        ),
      },
    ],
    skipped: [],
  }
}

export const jobs: Benchmark = { title: 'Jobs', run }
