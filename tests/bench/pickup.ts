import { join } from 'node:path'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { measureFsync } from './fsync.ts'
import { connect } from './load/connection.ts'
import { type JobTimes, startFleet } from './load/fleet.ts'
import { requestBytes } from './load/signed-request.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'
import { spreadOf } from './spread.ts'

/** Milliseconds from a submission until what it brings about, of each of its three nodes. */
export type PickUps = {
  readonly taken: number[]
  readonly claimed: number[]
}

/** Submits jobs one after the other to nodes that wait for them; fewer where a busy machine would take longer than `mostMs`. */
export async function measurePickUps(
  port: number,
  nodes: Parameters<typeof startFleet>[0]['nodes'],
  jobs: number,
  mostMs: number,
): Promise<PickUps> {
  const fleet = await startFleet({ ports: [port], nodes, works: false })
  const found: PickUps = { taken: [], claimed: [] }
  const note = ({ submitted, taken, claimed }: JobTimes) => {
    found.taken.push(taken - submitted)
    found.claimed.push(...claimed.map((at) => at - submitted))
  }
  try {
    // What is compiled and connected first does not count.
    const warmUp = Math.max(1, Math.floor(jobs / 4))
    const startedAt = performance.now()
    for (let count = 0; count < warmUp + jobs; count++) {
      if (count > warmUp && performance.now() - startedAt > mostMs) break
      const times = await fleet.runJob(`client ${count % 50}`, 'claimed')
      if (count >= warmUp) note(times)
    }
    return found
  } finally {
    fleet.stop()
  }
}

/** Milliseconds to be answered when there is nothing to do. */
async function measureRoundTrips({ port }: ServerProcess, count: number): Promise<number[]> {
  const connection = await connect(port)
  const request = await requestBytes({ method: 'GET', path: '/livez' })
  const took: number[] = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    await connection.send(request)
    took.push(performance.now() - startedAt)
  }
  connection.close()
  return took.slice(Math.floor(count / 4))
}

async function measure(nodeCount: number, jobs: number, mostMs: number, databaseUrl: string) {
  const roster = await createRoster(nodeCount)
  const server = await startServer({ kind: 'icl', databaseUrl, workers: true })
  try {
    await server.call('nodes', { nodes: entriesOf(roster) })
    const roundTrips = await measureRoundTrips(server, 2 * jobs)
    const pickUps = await measurePickUps(server.port, roster, jobs, mostMs)
    return { ...pickUps, roundTrips }
  } finally {
    await server.stop()
  }
}

const ms = (value: number) => `${value.toFixed(2)} ms`

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const { nodes, jobs, mostMs } = byForm(form, {
    short: { nodes: 1_000, jobs: 200, mostMs: 8_000 },
    long: { nodes: 1_000, jobs: 2_000, mostMs: 60_000 },
  })
  return await inEmptyFolder(async (folder) => {
    const stores = []
    const fsyncMs = measureFsync(folder)
    for (const [store, url] of [
      ['sqlite', `sqlite:${join(folder, 'icl.db')}`],
      ['memory', 'memory:'],
    ] as const) {
      say(`${jobs} jobs for ${nodes} waiting nodes, ${store}`)
      stores.push({ store, found: await measure(nodes, jobs, mostMs, url) })
    }
    return findingsOf(nodes, stores, fsyncMs)
  })
}

type Found = Awaited<ReturnType<typeof measure>>

function findingsOf(
  nodes: number,
  stores: readonly { readonly store: string; readonly found: Found }[],
  fsyncMs: number,
): Findings {
  const figures: Record<string, number> = { pickup_fsync_ms: fsyncMs }
  const rows = [['milliseconds', ...stores.flatMap(({ store }) => [`${store} 50 %`, '99 %'])]]
  for (const [name, part] of [
    ['loopback round trip', 'roundTrips'],
    ['until it is taken in', 'taken'],
    ['until the node has claimed it', 'claimed'],
  ] as const) {
    const row: string[] = [name]
    for (const { store, found } of stores) {
      const { p50, p99 } = spreadOf(found[part])
      row.push(p50.toFixed(2), p99.toFixed(2))
      const key = `pickup_${store}_${name.replaceAll(' ', '_')}`
      figures[`${key}_p50_ms`] = p50
      figures[`${key}_p99_ms`] = p99
    }
    rows.push(row)
  }
  const durable = stores[0]?.found
  const claimed = spreadOf(durable?.claimed ?? [])
  const inMemory = spreadOf(stores[1]?.found.claimed ?? [])
  return {
    method: `${nodes.toLocaleString('en')} nodes wait by long poll, in another process. A client submits one job after the other, and the three nodes of its quorum claim it by their polls. Measured from before the submission is sent, with all that it takes: the wallet's signature, its places, the pool of its draw. The chain responds at once. The goal is for sqlite.`,
    tables: [{ title: 'From submission to claim', rows }],
    figures,
    goals: [
      {
        what: `pick-up, median (${ms(claimed.p50)}), in fsyncs (${ms(fsyncMs)})`,
        found: claimed.p50 / fsyncMs,
        unit: 'fsyncs',
        limit: 4,
        better: 'lower',
        heldBackBy: `the same without a commit, in memory, takes ${ms(inMemory.p50)}: the requests and signatures of a client and three nodes, who share two cores with the ICL`,
      },
    ],
    skipped: [],
  }
}

export const pickup: Benchmark = { title: 'Pick-up', run }
