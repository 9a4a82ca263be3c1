import type { NodeSigner } from '../../lib/request-signature.ts'
import { prepareRound, type ScenarioName, signRound } from './icl-scenarios.ts'
import { type Connection, connectMany } from './load/connection.ts'
import { runRequests } from './load/run-requests.ts'
import type { ServerProcess } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { median } from './table.ts'

const connectionCount = 32

/** One of the servers that are compared. */
export type Contender = {
  readonly name: string
  readonly server: ServerProcess
  /** Whether it has a store that a round is prepared in. */
  readonly isIcl: boolean
  /** How many of the requests it gets; 1 for all. */
  readonly share: number
}

/** What one server took for one request, and how many it answered. */
export type Measured = { readonly cpuMicros: number; readonly perSecond: number }

/** Jobs of different rounds and scenarios must not be the same. */
let lastRound = 0

/**
 * Gives all servers the same requests in turn, round after round; the first `warmUp` rounds do not count. Answers the medians of
 * `rounds`, or of as many as a busy machine does in `mostMs`.
 */
export async function measureScenario(
  name: ScenarioName,
  contenders: readonly Contender[],
  nodes: readonly NodeSigner[],
  {
    warmUp,
    rounds,
    mostMs,
  }: { readonly warmUp: number; readonly rounds: number; readonly mostMs: number },
): Promise<ReadonlyMap<string, Measured>> {
  const found = new Map(contenders.map((one) => [one.name, [] as Measured[]]))
  const startedAt = performance.now()
  for (let count = 0; count < warmUp + rounds; count++) {
    if (count > warmUp && performance.now() - startedAt > mostMs) break
    const round = ++lastRound
    const requests = await signRound(name, nodes, round)
    // Each begins as often as it ends: what else the machine does hits all alike.
    for (const one of count % 2 === 0 ? contenders : contenders.toReversed()) {
      const measured = await measureRound(name, one, nodes, round, requests)
      if (count >= warmUp) found.get(one.name)?.push(measured)
    }
  }
  return new Map(
    [...found].map(([contender, all]) => [
      contender,
      {
        cpuMicros: median(all.map(({ cpuMicros }) => cpuMicros)),
        perSecond: median(all.map(({ perSecond }) => perSecond)),
      },
    ]),
  )
}

async function measureRound(
  name: ScenarioName,
  { server, isIcl, share }: Contender,
  nodes: readonly NodeSigner[],
  round: number,
  requests: readonly Uint8Array[],
): Promise<Measured> {
  const count = Math.max(3, Math.floor(requests.length * share))
  if (isIcl) await prepareRound(server, name, nodes.slice(0, count + 3), round)
  const connections: Connection[] = await connectMany([server.port], connectionCount)
  try {
    const before = await server.call<Usage>('usage')
    const seconds = await runRequests(connections, requests.slice(0, count)).catch(
      (error: unknown) => {
        throw new Error(`The ${name} requests failed: ${server.log()}`, { cause: error })
      },
    )
    const after = await server.call<Usage>('usage')
    return {
      cpuMicros: (after.cpuMicros - before.cpuMicros) / count,
      perSecond: count / seconds,
    }
  } finally {
    for (const connection of connections) connection.close()
  }
}
