import { join } from 'node:path'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { countNeeds, type FloorUnits, measureUnits } from './floor.ts'
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
    // The warm-up ends when the runtime has compiled nearly all that it will: 3 ms a job before, which a service pays once.
    short: { alone: 100, warmUp: 1_000, rounds: 3, jobs: 200, counted: 100, mostMs: 40_000 },
    long: { alone: 500, warmUp: 2_000, rounds: 7, jobs: 500, counted: 500, mostMs: 100_000 },
  })

const nodes = 60
const workers = 48

/** Starts a server, and a fleet that talks to it. */
export async function openContender(databaseUrl: string) {
  const roster = await createRoster(nodes)
  const server = await startServer({ kind: 'icl', databaseUrl, workers: true })
  // The nodes never beat: they count for 150 s.
  const beat = () => server.call('nodes', { nodes: entriesOf(roster) })
  try {
    await beat()
    const fleet = await startFleet({ ports: [server.port], nodes: roster, works: true })
    return { server, fleet, beat }
  } catch (error) {
    await server.stop()
    throw error
  }
}

type Contender = Awaited<ReturnType<typeof openContender>>

/** Ends both. */
export async function closeContender({ server, fleet }: Contender): Promise<void> {
  fleet.stop()
  await server.stop()
}

/** What all rounds took, by the middle one of each figure. */
const middleOf = (loads: readonly JobLoad[]): JobLoad => {
  const middle = (name: keyof JobLoad) => median(loads.map((load) => load[name]))
  return {
    perSecond: middle('perSecond'),
    cpuMs: middle('cpuMs'),
    writtenBytes: middle('writtenBytes'),
    jobs: loads.reduce((sum, { jobs }) => sum + jobs, 0),
  }
}

const acceptedBy = async ({ server }: Pick<Contender, 'server'>): Promise<number> =>
  (await server.call<{ accepted?: number }>('phases')).accepted ?? 0

/** Measures stores and floor in turn, so that all of them see the same machine. */
async function measureAll(form: Form, folder: string, say: (progress: string) => void) {
  const { alone, warmUp, rounds, jobs, mostMs } = planOf(form)
  const contenders: Contender[] = []
  try {
    const results = []
    for (const databaseUrl of [`sqlite:${join(folder, 'icl.db')}`, 'memory:']) {
      const contender = await openContender(databaseUrl)
      contenders.push(contender)
      const { server, fleet, beat } = contender
      say(databaseUrl.startsWith('sqlite') ? 'sqlite: warm-up' : 'memory: warm-up')
      await loadJobs(server, fleet, { workers, jobs: warmUp, mostMs })
      await beat()
      results.push({
        ...contender,
        phases: await measurePhases(fleet, alone, mostMs),
        loads: [] as JobLoad[],
        accepted: await acceptedBy(contender),
      })
    }
    const units: FloorUnits[] = []
    for (let round = 1; round <= rounds; round++) {
      say(`round ${round} of ${rounds}`)
      for (const { server, fleet, beat, loads } of results) {
        await beat()
        loads.push(await loadJobs(server, fleet, { workers, jobs, mostMs }))
      }
      units.push(await measureUnits(folder, workers))
    }
    const [sqlite, memory] = results.map(({ phases, loads }) => ({
      phases,
      loaded: middleOf(loads),
    }))
    if (!sqlite || !memory) throw new Error('Two stores were not measured')
    for (const { server, accepted, loads } of results) {
      const [more, jobs] = [(await acceptedBy({ server })) - accepted, middleOf(loads).jobs]
      if (more < jobs) throw new Error(`Only ${more} of ${jobs} jobs were accepted`)
    }
    return { sqlite, memory, units: middleUnits(units) }
  } catch (error) {
    const logs = contenders.map(({ server }) => server.log()).join('')
    throw new Error(`The jobs failed: ${logs}`, { cause: error })
  } finally {
    await Promise.all(contenders.map(closeContender))
  }
}

const middleUnits = (found: readonly FloorUnits[]): FloorUnits =>
  Object.fromEntries(
    Object.keys(found[0] ?? {}).map((name) => [
      name,
      median(found.map((units) => units[name as keyof FloorUnits])),
    ]),
  ) as FloorUnits

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const { counted, mostMs, warmUp } = planOf(form)
  return await inEmptyFolder(async (folder) => {
    const fsyncs = [measureFsync(folder)]
    const measured = await measureAll(form, folder, say)
    fsyncs.push(measureFsync(folder))
    say('what a job asks')
    const needs = await countNeeds(`sqlite:${join(folder, 'counted.db')}`, (server, fleet) =>
      loadJobs(server, fleet, { workers, jobs: counted, mostMs }),
    )
    return jobsFindings({ ...measured, needs, fsyncMs: median(fsyncs), nodes, workers, warmUp })
  })
}

type Measured = {
  readonly phases: readonly Phases[]
  readonly loaded: JobLoad
}

/** All that one run of this benchmark found. */
export type JobsFound = {
  readonly sqlite: Measured
  readonly memory: Measured
  readonly needs: JobNeeds
  readonly units: FloorUnits
  readonly fsyncMs: number
  readonly nodes: number
  readonly workers: number
  readonly warmUp: number
}

export const jobs: Benchmark = { title: 'Jobs', run }
