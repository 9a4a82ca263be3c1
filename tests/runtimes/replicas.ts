import { toHex } from 'viem'
import type { IclProcess } from '../../demo/icl-process.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import { systemRandom } from '../../lib/system.ts'
import { beat, joinNode } from '../icl/test-icl.ts'
import { openWireServer } from '../store/wire-server/open.ts'
import { submitJob, workOn } from './job.ts'
import { nodeNames, outsideOf, startRuntimesWorld } from './world.ts'

const runtimes = ['bun', 'node', 'deno'] as const
type ReplicaName = (typeof runtimes)[number]

/** How often each replica was asked for an operation. */
type Counts = Readonly<Record<ReplicaName, number>>

/** What came of a number of jobs that three replicas of different runtimes served together. */
export type ReplicasOutcome = {
  readonly accepted: number
  readonly operations: ReadonlyMap<OperationId, Counts>
  readonly seconds: number
}

const patterns = (Object.entries(endpoints) as [OperationId, Endpoint][]).map(
  ([id, { method, path }]) => ({
    id,
    method,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    fixed: !path.includes('{'),
  }),
)

function operationOf(request: Request): OperationId {
  const { pathname } = new URL(request.url)
  const fitting = patterns.filter(
    ({ method, pattern }) => method === request.method && pattern.test(pathname),
  )
  const found = fitting.find(({ fixed }) => fixed) ?? fitting[0]
  if (!found) throw new Error(`${request.method} ${pathname} is no operation`)
  return found.id
}

/** Sends each operation to one replica after another, each starting with another one, and counts. */
function rotating(replicas: ReadonlyMap<ReplicaName, IclProcess>) {
  const counts = new Map<OperationId, Record<ReplicaName, number>>()
  let first = 0
  const turns = new Map<OperationId, number>()
  const route = (request: Request): string => {
    const id = operationOf(request)
    const turn = turns.get(id) ?? first++
    turns.set(id, turn + 1)
    const name = runtimes[turn % runtimes.length] ?? 'bun'
    const known = counts.get(id) ?? { bun: 0, node: 0, deno: 0 }
    counts.set(id, known)
    known[name] += 1
    return replicas.get(name)?.url ?? ''
  }
  return { route, counts }
}

/** Runs jobs on a Bun, a Node and a Deno process over one MongoDB, each step on another of them than the one before. */
export async function runReplicas(
  jobs: number,
  onJob: (done: number) => void = () => {},
): Promise<ReplicasOutcome> {
  const server = await openWireServer()
  const world = await startRuntimesWorld()
  const replicas = new Map<ReplicaName, IclProcess>()
  try {
    const shared = {
      SVC_ICL_DATABASE_URL: server.freshUrl(),
      SVC_ICL_SECRET: toHex(systemRandom.bytes(32)).slice(2),
      SVC_ICL_REPLICAS: '3',
      SVC_ICL_LOG_LEVEL: 'info',
    }
    for (const runtime of runtimes) replicas.set(runtime, await world.start(runtime, shared))
    const { route, counts } = rotating(replicas)
    const outside = outsideOf(route)
    const nodes = []
    for (const name of nodeNames) nodes.push(await joinNode(outside, name))
    const startedAt = performance.now()
    let accepted = 0
    for (let job = 0; job < jobs; job += 1) {
      // A node that says nothing for long is drawn no more.
      for (const node of nodes) await beat(outside, node)
      await workOn(world, await submitJob(world, outside, nodes))
      accepted += 1
      onJob(accepted)
    }
    return { accepted, operations: counts, seconds: (performance.now() - startedAt) / 1000 }
  } finally {
    await world.stop()
    await server.close()
  }
}

/** The operations of a job's life, of which every replica has to serve some. */
export const jobOperations: readonly OperationId[] = [
  'postHeartbeat',
  'previewQuorum',
  'putBlob',
  'submitJob',
  'getAssignments',
  'claimAssignment',
  'commitAssignment',
  'postResult',
  'getAssignment',
  'postVerdict',
  'getJob',
]

/** One line for each operation: how often each replica served it. */
export const linesOf = (operations: ReplicasOutcome['operations']): readonly string[] =>
  [...operations].map(
    ([id, counts]) =>
      `${id.padEnd(20)} ${runtimes.map((name) => `${name} ${String(counts[name]).padStart(5)}`).join('  ')}`,
  )
