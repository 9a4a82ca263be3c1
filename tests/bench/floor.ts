import { connectMany } from './load/connection.ts'
import { type Fleet, startFleet } from './load/fleet.ts'
import { runRequests } from './load/run-requests.ts'
import { requestBytes } from './load/signed-request.ts'
import type { Counts } from './server/counting.ts'
import { type JobNeeds, pinnedNeeds, type UnitCosts } from './server/floor.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { median } from './table.ts'

/** Microseconds of processor time that one of each takes, a request to a bare server included. */
export type FloorUnits = UnitCosts & { readonly requests: number }

/** Microseconds of processor time that a job takes at least, by its parts. */
export type Floor = ReturnType<typeof floorOf>

/** Returns the least time of a job that asks so much. */
export const floorOf = (
  units: FloorUnits,
  needs: Pick<
    JobNeeds,
    'requests' | 'verified' | 'signed' | 'recoveries' | 'sha256' | 'hmac' | 'keccak'
  >,
) => {
  const sum = (...names: (keyof FloorUnits & keyof typeof needs)[]) =>
    names.reduce((total, name) => total + needs[name] * units[name], 0)
  return {
    requests: sum('requests'),
    signatures: sum('verified', 'signed'),
    recoveries: sum('recoveries'),
    hashes: sum('sha256', 'hmac', 'keccak'),
    json: needs.requests * units.json + units.jobJson,
    append: units.append,
  }
}

/** Milliseconds of a whole floor. */
export const floorMs = (floor: Floor): number =>
  Object.values(floor).reduce((sum, micros) => sum + micros, 0) / 1000

const rounds = 5
const requestsOfRound = 600

/** Counts the requests, checks and saves of one job of a fleet, as means of many jobs. */
export async function countNeeds(
  databaseUrl: string,
  load: (server: ServerProcess, fleet: Fleet) => Promise<{ readonly jobs: number }>,
): Promise<JobNeeds> {
  const roster = await createRoster(60)
  const server = await startServer({ kind: 'icl', databaseUrl, workers: true, counts: true })
  try {
    await server.call('nodes', { nodes: entriesOf(roster) })
    const fleet = await startFleet({ ports: [server.port], nodes: roster, works: true })
    try {
      await load(server, fleet)
      const before = await server.call<Counts>('counts')
      const { jobs } = await load(server, fleet)
      const after = await server.call<Counts>('counts')
      return needsOf(before, after, jobs)
    } finally {
      fleet.stop()
    }
  } finally {
    await server.stop()
  }
}

function needsOf(before: Counts, after: Counts, jobs: number): JobNeeds {
  const names = Object.keys(after) as (keyof Counts)[]
  const since = Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]),
  ) as Counts
  const settledBytes = since.settledBytes / since.settledJobs
  const each = Object.fromEntries(names.map((name) => [name, since[name] / jobs])) as Counts
  return { ...each, settledBytes }
}

/** Measures what one of each takes with the fastest calls of this host; `group` jobs are under way at once. */
export async function measureUnits(folder: string, group: number): Promise<FloorUnits> {
  const { requests, receivedBytes, sentBytes } = pinnedNeeds
  const server = await startServer({
    kind: 'floor',
    databaseUrl: 'memory:',
    workers: false,
    folder,
    answerBytes: Math.round(sentBytes / requests),
  })
  try {
    return {
      requests: await measureRequests(server, Math.round(receivedBytes / requests)),
      ...(await server.call<UnitCosts>('units', { group })),
    }
  } finally {
    await server.stop()
  }
}

/** Microseconds of processor time that a bare server takes to read a signed request and to answer it. */
async function measureRequests(server: ServerProcess, bodyBytes: number): Promise<number> {
  const [node] = await createRoster(1)
  const call = {
    method: 'POST' as const,
    path: '/internal/task/claim',
    body: { text: 'x'.repeat(bodyBytes) },
  }
  const request = await requestBytes(call, node)
  const requests = Array.from({ length: requestsOfRound }, () => request)
  const connections = await connectMany([server.port], 32)
  const found: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const before = await server.call<Usage>('usage')
    await runRequests(connections, requests)
    const { cpuMicros } = await server.call<Usage>('usage')
    if (round > 0) found.push((cpuMicros - before.cpuMicros) / requestsOfRound)
  }
  for (const connection of connections) connection.close()
  return median(found)
}
