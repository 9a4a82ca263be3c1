import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from '../lib/api.ts'
import { createChainWriter } from '../lib/chain/clients.ts'
import { systemClock, systemRandom } from '../lib/system.ts'
import { systemFetch } from '../lib/system-fetch.ts'
import { startCoprocessor } from './coprocessor-process.ts'
import { type IclProcess, startIcl } from './icl-process.ts'
import { type KuboProcess, kuboPath, startKubo } from './kubo-process.ts'
import { type LocalChain, startLocalChain } from './local-chain.ts'
import type { AnswerKind } from './ngram-server.ts'
import {
  attestNode,
  fundNode,
  type LocalNode,
  prepareNode,
  runNode,
  stakeNode,
} from './node-process.ts'
import type { BlobLocation, FheMode } from './options.ts'
import { createProcesses, lastLogLines, type Processes, type Running } from './processes.ts'
import { randomHex } from './random-hex.ts'
import type { RealModelFiles } from './real-model/install.ts'
import type { DemoRuntime } from './runtime-programs.ts'
import { startStandIn } from './standin-process.ts'
import { type Reporter, silentReporter } from './story.ts'

/** The whole service on this machine, each part in its own process. */
export type World = {
  readonly chain: LocalChain
  readonly icl: IclProcess
  readonly nodes: readonly LocalNode[]
  /** The Kubo that keeps the blobs, if there is one. */
  readonly kubo: KuboProcess | undefined
  /** The stand-in for the providers, if there is one. */
  readonly standInUrl: string | undefined
  /** The key with which nodes attest. */
  readonly mockAttestationKey: string
  /** The folder of configurations, keystores and logs. `stop` removes it. */
  readonly folder: string
  /** Returns the last lines of the ICL's, the stand-in's and the nodes' logs. */
  readonly lastLogs: () => Promise<string>
  /** Calls `onEnd` when the chain, the ICL, the stand-in or a node ends, with its name and last lines. */
  readonly watch: (onEnd: (told: string) => void) => void
  /** Ends the nodes, then what they depend on, and removes the folder. Idempotent. */
  readonly stop: () => Promise<void>
}

/** The options of a world. */
export type WorldOptions = {
  readonly models: readonly string[]
  /** The number of nodes, 3 by default. */
  readonly nodes?: number
  /** The environment of the node with this index, such as provider keys and base URLs. */
  readonly providerEnv: (
    index: number,
    standInUrl: string | undefined,
  ) => Readonly<Record<string, string>>
  readonly standIn?: boolean
  /** The file with the stand-in's answers, in place of the usual ones. */
  readonly standInScript?: string | undefined
  /** The source of the answers of a small language model, which then is the stand-in. */
  readonly ngrams?: AnswerKind | undefined
  /** The installed real model, which then is the stand-in. */
  readonly realModel?: RealModelFiles | undefined
  /** Free ports by default. The ICL's port is in `iclEnv`. */
  readonly ports?: { readonly chain: number; readonly standIn: number }
  /** The svc-node executable of the nodes, the sources by default. */
  readonly nodeBinary?: string
  /** Whether the coprocessor really encrypts and proves, `mock` by default. */
  readonly fhe?: FheMode
  readonly iclEnv?: Readonly<Record<string, string>>
  /** The runtime of the ICL, Bun by default. */
  readonly iclRuntime?: DemoRuntime
  /** Where the ICL keeps blobs, its store by default. */
  readonly blobs?: BlobLocation
  /** Whether to build the playground and have the ICL serve it. */
  readonly playground?: boolean
  readonly reporter?: Reporter
  readonly signal?: AbortSignal
}

const poolTimeoutMs = 60_000
const poolPollMs = 100

/** Starts the world and resolves when all its nodes are in the active pool. On failure it removes everything. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-world-'))
  const processes = createProcesses(folder)
  const parts: Parts = { folder, processes, mockAttestationKey: randomHex(), nodes: [] }
  try {
    const { chain, icl } = await build(parts, options)
    return {
      ...parts,
      ...{ chain, icl, kubo: parts.kubo, standInUrl: parts.standIn?.url },
      watch: (onEnd) => watch(parts, onEnd),
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
  readonly mockAttestationKey: string
  chain?: LocalChain
  icl?: IclProcess
  kubo?: KuboProcess
  standIn?: { readonly url: string; readonly process: Running }
  nodes: readonly LocalNode[]
}

/** Ten times the defaults: all clients and nodes share one address here. A developer's page may have any origin. */
const localEnv = {
  SVC_ICL_ALLOW_ORIGINS: '*',
  SVC_ICL_RATE_ADDRESS: '6000/60',
  SVC_ICL_RATE_PREVIEW: '3000/60',
  SVC_ICL_RATE_UPLOAD: '6000/3600',
}

async function build(parts: Parts, options: WorldOptions): Promise<Pick<World, 'chain' | 'icl'>> {
  const { processes, folder, mockAttestationKey } = parts
  const { models, nodes: count = 3, iclEnv, signal, reporter = silentReporter } = options
  const { nodeBinary: binary, iclRuntime: runtime } = options
  const chain = await startChain(parts, options)
  parts.chain = chain
  const coprocessorEnv = chain.coprocessor && { SVC_ICL_COFHE_URLS: chain.coprocessor.cofhe_url }
  const blobsEnv = await startBlobs(parts, options)
  const playgroundEnv = await preparePlayground(parts, chain, options)
  const icl = await reporter.step('Starting the coordinator (ICL)', () =>
    startIcl({
      processes,
      folder,
      chain,
      mockAttestationKey,
      env: { ...localEnv, ...coprocessorEnv, ...blobsEnv, ...playgroundEnv, ...iclEnv },
      runtime,
      signal,
    }),
  )
  parts.icl = icl
  if (options.standIn) {
    parts.standIn = await reporter.step(
      options.realModel ? 'Loading the model' : 'Starting the stand-in for the provider',
      () =>
        startStandIn(processes, {
          signal,
          port: options.ports?.standIn,
          script: options.standInScript,
          ngrams: options.ngrams,
          realModel: options.realModel,
        }),
    )
  }
  const environment = {
    ...{ processes, folder, chain, iclUrl: icl.url, models, mockAttestationKey, binary },
    gatewayUrl: parts.kubo?.gatewayUrl,
  }
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`)
  const prepared = await reporter.step(`Making ${count} nodes with a wallet each`, () =>
    Promise.all(
      names.map((name, index) =>
        prepareNode(environment, name, options.providerEnv(index, parts.standIn?.url), signal),
      ),
    ),
  )
  await reporter.step('Registering them on chain with a stake', async () => {
    const { rpcUrl, chainId, funder } = chain
    const writer = createChainWriter({ rpcUrl, chainId, account: funder })
    await Promise.all(prepared.map((node) => fundNode(writer, node)))
    await Promise.all(prepared.map((node) => stakeNode(environment, node, signal)))
  })
  await reporter.step('Attesting them', () =>
    Promise.all(prepared.map((node) => attestNode(environment, node, signal))),
  )
  parts.nodes = prepared.map((node) => runNode(environment, node))
  await reporter.step('Waiting until they are in the active pool', (progress) =>
    waitForPool(icl.url, parts.nodes, progress, signal),
  )
  return { chain, icl }
}

/** Starts Kubo if it keeps the blobs. Returns the ICL's settings for it. */
async function startBlobs(
  parts: Parts,
  { blobs, reporter = silentReporter, signal }: WorldOptions,
): Promise<Readonly<Record<string, string>>> {
  if (blobs !== 'kubo') return {}
  const { processes, folder } = parts
  const path = await kuboPath()
  parts.kubo = await reporter.step('Starting an IPFS daemon (Kubo)', () =>
    startKubo({ processes, folder, path, signal }),
  )
  return { SVC_ICL_BLOBS: `kubo:${parts.kubo.rpcUrl},${parts.kubo.gatewayUrl}` }
}

/** Builds the playground if it is wanted. Returns the ICL's settings for it. */
async function preparePlayground(
  { folder }: Parts,
  { rpcUrl }: LocalChain,
  { playground, reporter = silentReporter }: WorldOptions,
): Promise<Readonly<Record<string, string>>> {
  if (!playground) return {}
  const pageFolder = join(folder, 'playground')
  await reporter.step('Building the playground', async () => {
    const { buildPlayground } = await import('../web/build-playground.ts')
    await buildPlayground(pageFolder)
  })
  return { SVC_ICL_PLAYGROUND: pageFolder, SVC_ICL_PLAYGROUND_RPC_URL: rpcUrl }
}

async function startChain(
  { processes, folder }: Parts,
  { fhe = 'mock', reporter = silentReporter, ports, signal }: WorldOptions,
): Promise<LocalChain> {
  const isMock = fhe === 'mock'
  const alone = 'a chain and deploying the contracts'
  const parts = isMock ? alone : 'a chain and its coprocessor, and deploying'
  return await reporter.step(`Starting ${parts}`, (progress) => {
    const start = (chain: Pick<LocalChain, 'rpcUrl' | 'chainId'>) =>
      startCoprocessor({ processes, dataFolder: folder, ...chain, progress, signal })
    return startLocalChain(signal, isMock ? undefined : start, ports?.chain)
  })
}

async function waitForPool(
  baseUrl: string,
  nodes: readonly LocalNode[],
  progress: (detail: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const api = createApi({
    baseUrl,
    fetch: systemFetch,
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

const runningIn = ({ icl, standIn, nodes }: Parts): readonly Running[] =>
  [icl, standIn, ...nodes].flatMap((part) => part?.process ?? [])

function watch(parts: Parts, onEnd: (told: string) => void): void {
  void parts.chain?.exited.then(() => onEnd('The chain has ended.'))
  for (const process of runningIn(parts)) {
    void process.exited.then(async (how) => {
      const words = await lastLogLines(process.logFile)
      onEnd(`${process.name} has ended with ${how}. The end of ${process.logFile}:\n${words}`)
    })
  }
}

async function lastLogs(parts: Parts): Promise<string> {
  const logs = runningIn(parts).map(
    async ({ name, logFile }) => `--- ${name}\n${await lastLogLines(logFile)}`,
  )
  return (await Promise.all(logs)).join('\n')
}

async function stop({ folder, processes, chain, icl, nodes }: Parts): Promise<void> {
  await processes.stop(nodes.map((node) => node.process))
  if (icl !== undefined) await processes.stop([icl.process])
  await processes.close()
  await chain?.stop()
  await rm(folder, { recursive: true, force: true })
}
