import { openWireServer, whyNoWireServer } from '../store/wire-server/open.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
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
}

const figuresOf = async (servers: readonly ServerProcess[]): Promise<Costs> => {
  const total = { requests: 0, saves: 0, refusedSaves: 0, cpuMs: 0 }
  for (const server of servers) {
    const counts = await server.call<Counts>('counts')
    const { cpuMicros } = await server.call<Usage>('usage')
    total.requests += counts.requests
    total.saves += counts.saves
    total.refusedSaves += counts.refusedSaves
    total.cpuMs += cpuMicros / 1000
  }
  return total
}

/** Has clients and nodes, which talk to the replicas in turn, do `jobs` jobs, `workers` at a time, or as many as begin in `mostMs`. */
async function measure(
  replicas: number,
  databaseUrl: string,
  {
    jobs,
    workers,
    mostMs,
  }: { readonly jobs: number; readonly workers: number; readonly mostMs: number },
): Promise<Costs> {
  const roster = await createRoster(60)
  const servers: ServerProcess[] = []
  try {
    for (let index = 0; index < replicas; index++) {
      const options = { databaseUrl, replicas, workers: true, counts: true }
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
      return {
        requests: each('requests'),
        saves: each('saves'),
        refusedSaves: each('refusedSaves'),
        cpuMs: each('cpuMs'),
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
    short: { jobs: 12, workers: 3, mostMs: 90_000 },
    long: { jobs: 100, workers: 8, mostMs: 90_000 },
  })
  const wire = await openWireServer()
  try {
    const rows = [['replicas', 'requests', 'saves', 'refused', 'processor time']]
    const figures: Record<string, number> = {}
    for (const replicas of [1, 2]) {
      say(`${replicas} over MongoDB`)
      const costs = await measure(replicas, wire.freshUrl(), plan)
      rows.push([
        String(replicas),
        costs.requests.toFixed(1),
        costs.saves.toFixed(1),
        costs.refusedSaves.toFixed(1),
        `${costs.cpuMs.toFixed(1)} ms`,
      ])
      figures[`replicas_${replicas}_saves`] = costs.saves
      figures[`replicas_${replicas}_refused_saves`] = costs.refusedSaves
      figures[`replicas_${replicas}_job_cpu_ms`] = costs.cpuMs
    }
    const tables = [{ title: 'A job, all replicas together', rows }]
    return { method, tables, figures, goals: [], skipped: [] }
  } finally {
    await wire.close()
  }
}

export const replicas: Benchmark = { title: 'Replicas over MongoDB', run }
