import { setTimeout as sleep } from 'node:timers/promises'
import { inEmptyFolder } from '../empty-folder.ts'
import { openWireServer, whyNoWireServer } from '../store/wire-server/open.ts'
import { type Benchmark, byForm, type Findings, type Form, type Goal } from './benchmark.ts'
import { startFleet } from './load/fleet.ts'
import type { Counts } from './server/counting.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'

/** What one job costs all replicas together. */
type Costs = {
  readonly requests: number
  readonly saves: number
  readonly refusedSaves: number
  readonly cpuMs: number
  readonly commands: number
}

const figuresOf = async (servers: readonly ServerProcess[]): Promise<Costs> => {
  const total = { requests: 0, saves: 0, refusedSaves: 0, cpuMs: 0, commands: 0 }
  for (const server of servers) {
    const counts = await server.call<Counts>('counts')
    const { cpuMicros } = await server.call<Usage>('usage')
    total.requests += counts.requests
    total.saves += counts.saves
    total.refusedSaves += counts.refusedSaves
    total.cpuMs += cpuMicros / 1000
    total.commands += counts.databaseCommands
  }
  return total
}

const idleMs = 5_000
/** Without requests: until the last effects are delivered, and the ICLs look less often. */
const untilIdleMs = 10_000

/** How many ICLs run, and how many there are by their settings. */
type Setup = {
  readonly name: string
  readonly running: number
  readonly replicas: number
  readonly folder?: string
}

/** Has clients and nodes, which talk to the replicas in turn, do `jobs` jobs, `workers` at a time, or as many as begin in `mostMs`. */
async function measure(
  { running, replicas, folder }: Setup,
  databaseUrl: string,
  {
    jobs,
    workers,
    mostMs,
  }: { readonly jobs: number; readonly workers: number; readonly mostMs: number },
): Promise<Costs & { readonly idle: number }> {
  const roster = await createRoster(60)
  const servers: ServerProcess[] = []
  try {
    for (let index = 0; index < running; index++) {
      const options = {
        databaseUrl,
        replicas,
        workers: true,
        counts: true,
        ...(folder && { folder }),
      }
      servers.push(await startServer({ kind: 'icl', ...options }))
    }
    await servers[0]?.call('nodes', { nodes: entriesOf(roster) })
    const ports = servers.map(({ port }) => port)
    const fleet = await startFleet({ ports, nodes: roster, works: true })
    try {
      const load = async (count: number) => {
        let begun = 0
        const startedAt = performance.now()
        const work = async (worker: number) => {
          while (begun < count && performance.now() - startedAt < mostMs) {
            begun += 1
            await fleet.runJob(`worker ${worker}`, 'settled')
          }
        }
        await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
        return begun
      }
      await load(workers)
      const before = await figuresOf(servers)
      const done = await load(jobs)
      const after = await figuresOf(servers)
      const each = (name: keyof Costs) => (after[name] - before[name]) / done
      fleet.stop()
      await sleep(untilIdleMs)
      const idle = await figuresOf(servers)
      await sleep(idleMs)
      const rested = await figuresOf(servers)
      return {
        requests: each('requests'),
        saves: each('saves'),
        refusedSaves: each('refusedSaves'),
        cpuMs: each('cpuMs'),
        commands: each('commands'),
        idle: (rested.commands - idle.commands) / (idleMs / 1000) / running,
      }
    } finally {
      fleet.stop()
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const method =
    'Nodes and clients talk to the replicas in turn, as behind a load balancer. The database uses one core here, and all share two: jobs a second of more replicas cannot be shown.'
  const missing = await whyNoWireServer()
  if (missing !== undefined) {
    return { method, tables: [], figures: {}, goals: [], skipped: [`replicas: ${missing}`] }
  }
  const plan = byForm(form, {
    // The nodes never beat: they count for 150 s.
    short: { jobs: 24, workers: 6, mostMs: 60_000 },
    long: { jobs: 100, workers: 8, mostMs: 90_000 },
  })
  const wire = await openWireServer()
  try {
    return await inEmptyFolder(async (folder) => {
      const found: Found[] = []
      for (const setup of setupsIn(folder)) {
        say(`${setup.name} over MongoDB`)
        found.push({ ...setup, ...(await measure(setup, wire.freshUrl(), plan)) })
      }
      return findingsOf(method, found)
    })
  } finally {
    await wire.close()
  }
}

const setupsIn = (folder: string) =>
  [
    { name: 'alone, with its file', running: 1, replicas: 1, folder, limit: 3 },
    { name: 'one of several', running: 1, replicas: 2, limit: 45 },
    { name: 'two', running: 2, replicas: 2, limit: 60 },
  ] as const satisfies (Setup & { limit: number })[]

type Found = ReturnType<typeof setupsIn>[number] & Awaited<ReturnType<typeof measure>>

function findingsOf(method: string, found: readonly Found[]): Findings {
  const figures: Record<string, number> = {}
  const rows = [['ICLs', 'requests', 'saves', 'refused', 'commands', 'processor time', 'idle']]
  const goals: Goal[] = []
  for (const { name, limit, requests, saves, refusedSaves, commands, cpuMs, idle } of found) {
    const counts = [requests, saves, refusedSaves, commands].map((count) => count.toFixed(1))
    rows.push([name, ...counts, `${cpuMs.toFixed(1)} ms`, `${idle.toFixed(1)} commands/s`])
    const figure = `replicas_${name.replaceAll(/[^a-z]+/g, '_')}`
    figures[`${figure}_saves`] = saves
    figures[`${figure}_refused_saves`] = refusedSaves
    figures[`${figure}_commands`] = commands
    figures[`${figure}_job_cpu_ms`] = cpuMs
    const what = `commands to MongoDB for a job, ${name}`
    goals.push({ what, found: commands, unit: 'commands', limit, better: 'lower' })
    figures[`${figure}_idle_commands`] = idle
  }
  return {
    method,
    tables: [{ title: 'A job, all ICLs together', rows }],
    figures,
    goals,
    skipped: [],
  }
}

export const replicas: Benchmark = { title: 'Replicas over MongoDB', run }
