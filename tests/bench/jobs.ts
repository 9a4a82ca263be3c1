import { join } from 'node:path'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { countNeeds, type Floor, measureFloor } from './floor.ts'
import { measureFsync } from './fsync.ts'
import { jobsFindings } from './jobs-findings.ts'
import { type Fleet, type JobTimes, startFleet } from './load/fleet.ts'
import type { JobNeeds } from './server/floor.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { median } from './table.ts'

/** What so many jobs took. */
export type JobLoad = {
  readonly perSecond: number
  /** Processor time of the ICL for one job, in milliseconds. */
  readonly cpuMs: number
  /** Bytes that it had the disk written for one job, with whole pages; NaN where Linux does not tell. */
  readonly writtenBytes: number
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
    writtenBytes: (after.writtenBytes - before.writtenBytes) / done,
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
    answers: times.revealed - last(times.committed),
    delivery: times.delivered - times.revealed,
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
    short: {
      nodes: 60,
      alone: 100,
      workers: 48,
      warmUp: 400,
      jobs: 3_000,
      counted: 100,
      mostMs: 6_000,
    },
    long: {
      nodes: 60,
      alone: 500,
      workers: 48,
      warmUp: 1_000,
      jobs: 5_000,
      counted: 500,
      // The nodes never beat: they count for 150 s.
      mostMs: 60_000,
    },
  })

async function measure(form: Form, databaseUrl: string, flags: readonly string[] = []) {
  const { nodes, alone, warmUp, mostMs, ...load } = planOf(form)
  const roster = await createRoster(nodes)
  const server = await startServer({ kind: 'icl', databaseUrl, workers: true }, 'bun', flags)
  try {
    await server.call('nodes', { nodes: entriesOf(roster) })
    const fleet = await startFleet({ ports: [server.port], nodes: roster, works: true })
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
  const { nodes, workers, counted, mostMs } = planOf(form)
  return await inEmptyFolder(async (folder) => {
    say('sqlite')
    const fsyncs = [measureFsync(folder)]
    const sqlite = await measure(form, `sqlite:${join(folder, 'icl.db')}`)
    fsyncs.push(measureFsync(folder))
    say('memory')
    const memory = await measure(form, 'memory:')
    say('the floor')
    const needs = await countNeeds(`sqlite:${join(folder, 'counted.db')}`, (server, fleet) =>
      loadJobs(server, fleet, { workers, jobs: counted, mostMs }),
    )
    const floor = await measureFloor(needs, folder, workers)
    return jobsFindings({ sqlite, memory, needs, floor, fsyncMs: median(fsyncs), nodes, workers })
  })
}

type Measured = Awaited<ReturnType<typeof measure>>

/** All that one run of this benchmark found. */
export type JobsFound = {
  readonly sqlite: Measured
  readonly memory: Measured
  readonly needs: JobNeeds
  readonly floor: Floor
  readonly fsyncMs: number
  readonly nodes: number
  readonly workers: number
}

export const jobs: Benchmark = { title: 'Jobs', run }
