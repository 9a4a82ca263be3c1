import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from '../lib/api.ts'
import { createChainWriter } from '../lib/chain/clients.ts'
import { systemClock, systemRandom } from '../lib/system.ts'
import { type IclProcess, startIcl } from './icl-process.ts'
import { type LocalChain, startLocalChain } from './local-chain.ts'
import { attestNode, type LocalNode, prepareNode, registerNode, runNode } from './node-process.ts'
import { createProcesses, lastLogLines, type Processes, type Running } from './processes.ts'
import { randomHex } from './random-hex.ts'
import { type Reporter, silentReporter } from './reporter.ts'
import { startStandIn } from './standin-process.ts'

/** The whole service on this machine, each part in its own process. */
export type World = {
  readonly chain: LocalChain
  readonly icl: IclProcess
  readonly nodes: readonly LocalNode[]
  /** The stand-in for the providers, if the world has one. */
  readonly standInUrl: string | undefined
  /** Holds configurations, keystores and logs; gone after `stop`. */
  readonly folder: string
  /** The last lines of each log. */
  readonly lastLogs: () => Promise<string>
  /** Ends the nodes, then what they use; removes the folder; harmless when called twice. */
  readonly stop: () => Promise<void>
}

/** What kind of world to start. */
export type WorldOptions = {
  readonly models: readonly string[]
  /** How many nodes; 3 when left out. */
  readonly nodes?: number
  /** Provider keys and base URLs of the node with this index. */
  readonly providerEnv: (
    index: number,
    standInUrl: string | undefined,
  ) => Readonly<Record<string, string>>
  readonly standIn?: boolean
  readonly iclEnv?: Readonly<Record<string, string>>
  readonly reporter?: Reporter
  readonly signal?: AbortSignal
}

const poolTimeoutMs = 60_000
const poolPollMs = 100

/** Starts the world and resolves once all its nodes are in the active pool; on failure nothing is left of it. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-world-'))
  const processes = createProcesses(folder)
  const parts: Parts = { folder, processes, nodes: [] }
  try {
    await build(parts, options)
    const { chain, icl } = parts
    if (chain === undefined || icl === undefined) throw new TypeError('The world is incomplete')
    return {
      chain,
      icl,
      nodes: parts.nodes,
      standInUrl: parts.standIn?.url,
      folder,
      lastLogs: () => lastLogs(parts),
      stop: () => stop(parts),
    }
  } catch (error) {
    await stop(parts)
    throw error
  }
}

type Parts = {
  readonly folder: string
  readonly processes: Processes
  chain?: LocalChain
  icl?: IclProcess
  standIn?: { readonly url: string; readonly process: Running }
  nodes: readonly LocalNode[]
}

async function build(parts: Parts, options: WorldOptions): Promise<void> {
  const { processes, folder } = parts
  const { models, nodes: count = 3, iclEnv, signal, reporter = silentReporter } = options
  const mockAttestationKey = randomHex()
  const chain = await reporter.step('Starting a chain and deploying the contracts', () =>
    startLocalChain(signal),
  )
  parts.chain = chain
  const icl = await reporter.step('Starting the coordinator (ICL)', () =>
    startIcl({ processes, folder, chain, mockAttestationKey, env: iclEnv, signal }),
  )
  parts.icl = icl
  if (options.standIn) {
    parts.standIn = await reporter.step('Starting the stand-in for the provider', () =>
      startStandIn(processes, signal),
    )
  }
  const place = { processes, folder, chain, iclUrl: icl.url, models, mockAttestationKey }
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`)
  const prepared = await reporter.step(`Making ${count} nodes with a wallet each`, () =>
    Promise.all(
      names.map((name, index) =>
        prepareNode(place, name, options.providerEnv(index, parts.standIn?.url), signal),
      ),
    ),
  )
  await reporter.step('Registering them on chain with a stake', async () => {
    const { rpcUrl, chainId, funder } = chain
    const writer = createChainWriter({ rpcUrl, chainId, account: funder })
    for (const node of prepared) await registerNode(writer, chain, node, signal)
  })
  await reporter.step('Attesting them', () =>
    Promise.all(prepared.map((node) => attestNode(place, node, signal))),
  )
  parts.nodes = prepared.map((node) => runNode(place, node))
  await reporter.step('Waiting until they are in the active pool', (progress) =>
    waitForPool(icl.url, parts.nodes, progress, signal),
  )
}

async function waitForPool(
  baseUrl: string,
  nodes: readonly LocalNode[],
  progress: (detail: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const api = createApi({
    baseUrl,
    fetch: (request) => fetch(request),
    clock: systemClock,
    random: systemRandom,
  })
  const untilMs = systemClock.now() + poolTimeoutMs
  for (;;) {
    const { nodes: active } = await api.getActiveNodes({ query: { min_tier: 0 } }, { signal })
    progress(`${active.length} of ${nodes.length}`)
    if (active.length >= nodes.length) return
    for (const { name, process } of nodes) {
      if (!process.hasExited()) continue
      const words = await lastLogLines(process.logFile)
      throw new Error(`${name} ended with ${await process.exited}:\n${words}`)
    }
    if (systemClock.now() > untilMs) {
      throw new Error(`Only ${active.length} of ${nodes.length} nodes became active`)
    }
    await systemClock.sleep(poolPollMs, signal)
  }
}

async function lastLogs({ icl, nodes }: Parts): Promise<string> {
  const running = [icl?.process, ...nodes.map((node) => node.process)]
  const parts = running.map(async (process) =>
    process === undefined ? '' : `--- ${process.name}\n${await lastLogLines(process.logFile)}`,
  )
  return (await Promise.all(parts)).filter((part) => part !== '').join('\n')
}

async function stop({ folder, processes, chain, icl, nodes }: Parts): Promise<void> {
  await processes.stop(nodes.map((node) => node.process))
  if (icl !== undefined) await processes.stop([icl.process])
  await processes.close()
  await chain?.stop()
  await rm(folder, { recursive: true, force: true })
}
