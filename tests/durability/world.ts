import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import { type IclProcess, startIcl } from '../../demo/icl-process.ts'
import { type LocalChain, startLocalChain } from '../../demo/local-chain.ts'
import {
  attestNode,
  fundNode,
  type PreparedNode,
  prepareNode,
  runNode,
  stakeNode,
} from '../../demo/node-process.ts'
import { createProcesses, lastLogLines, type Running } from '../../demo/processes.ts'
import { randomHex } from '../../demo/random-hex.ts'
import { startStandIn } from '../../demo/standin-process.ts'
import { openStore } from '../../icl/start/open-store.ts'
import type { Store } from '../../icl/store/store.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { retrying } from '../../lib/retry.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'
import { builtBinary } from '../binary/executable.ts'
import { type HttpProxy, startProxy } from '../e2e/proxy.ts'
import { withoutLimits } from '../sample-settings.ts'
import { whole } from '../whole.ts'
import { type Database, startDatabase } from './database.ts'
import { type Control, createControl } from './preload.ts'

export type StoreKind = 'sqlite' | 'mongodb'

/** A process that can be ended and started again with the same files. */
export type Part = {
  readonly name: string
  /** The process of this moment. */
  readonly process: () => Running
  /** Steers the faults of its disk and clock; undefined where there is no preload. */
  readonly control: Control | undefined
  readonly start: () => Promise<void>
  /** Ends it, by SIGKILL unless told otherwise. */
  readonly end: (signal?: NodeJS.Signals) => Promise<void>
}

export type NodePart = Part & { readonly address: string; readonly folder: string }

/** The whole service on this machine, each part in its own process, with proxies between them. */
export type World = {
  readonly store: StoreKind
  readonly chain: LocalChain
  readonly icl: Part
  /** What nodes and clients call. */
  readonly iclUrl: string
  readonly nodes: readonly NodePart[]
  /** Before the ICL's HTTP, the chain's RPC (of the ICL and the nodes) and the provider. */
  readonly proxies: {
    readonly icl: HttpProxy
    readonly rpc: HttpProxy
    readonly provider: HttpProxy
  }
  /** The database server; undefined over sqlite. */
  readonly database: Database | undefined
  /** Starts one more ICL over the same database, which nobody calls by the proxy. */
  readonly startReplica: () => Promise<IclProcess>
  /** Says how many ICLs share the database to those that are started from now on: 1 at first. */
  readonly setReplicas: (count: number) => void
  /** Looks into the store beside the ICL. */
  readonly look: () => Promise<Store>
  /** Looks into the file that the database follows, beside the ICL. */
  readonly lookIntoFile: () => Promise<Store>
  /** Takes away the file that the database follows, of an ICL that has ended. */
  readonly forgetFile: () => Promise<void>
  /** What is wrong with the files that an ICL left behind; undefined when nothing is. */
  readonly damage: () => Promise<string | undefined>
  readonly lastLogs: () => Promise<string>
  /** Leaves the logs, the store and the files when the world stops; returns their folder. */
  readonly keep: () => string
  readonly stop: () => Promise<void>
}

export const model = 'openai:gpt-4o-mini'

/** Starts it; when that fails, nothing is left of it. Without a preload there are no faults of disks and clocks. */
export async function startWorld(
  store: StoreKind,
  nodeCount: number,
  preload: string | undefined,
): Promise<World> {
  return whole((stops) => build(store, nodeCount, preload, stops))
}

async function build(
  store: StoreKind,
  nodeCount: number,
  preload: string | undefined,
  stops: (() => unknown)[],
) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-faults-'))
  let isKept = false
  stops.push(() => isKept || rm(folder, { recursive: true, force: true }))
  const open = async <T extends { readonly stop: () => Promise<unknown> }>(part: Promise<T>) => {
    const opened = await part
    stops.push(opened.stop)
    return opened
  }
  const state = join(folder, 'state')
  const data = join(folder, 'database')
  await Promise.all([state, data].map((path) => mkdir(path)))
  const chain = await open(startLocalChain())
  const proxies = {
    icl: await open(startProxy()),
    rpc: await open(startProxy()),
    provider: await open(startProxy()),
  }
  proxies.rpc.target = chain.rpcUrl
  const database = store === 'mongodb' ? await open(startDatabase(data)) : undefined
  const processes = createProcesses(folder)
  stops.push(() => processes.stop(undefined, 0).then(() => processes.close()))
  proxies.provider.target = (await startStandIn(processes)).url
  const file = join(state, 'icl.db')
  const databaseUrl = database?.url ?? `sqlite:${file}`
  const mockAttestationKey = randomHex()
  const control = (name: string, prefix: string) =>
    preload === undefined
      ? undefined
      : createControl(preload, join(folder, `${name}.control`), prefix)
  const iclControl = control('icl', `${state}/`)
  const mirrorFile = (name: string) => join(state, `copy-${name}`, 'copy.db')
  let replicas = 1
  const startOne = (name: string) =>
    startIcl({
      ...{ processes, folder, chain, mockAttestationKey, name },
      env: {
        ...iclEnv,
        SVC_ICL_REPLICAS: String(replicas),
        SVC_ICL_LOCAL_COPY: mirrorFile(name),
        ...(name === 'icl' && iclControl?.env),
      },
    })
  const iclEnv = {
    SVC_ICL_SECRET: randomHex(),
    SVC_ICL_PUBLIC_URL: proxies.icl.url,
    SVC_ICL_RPC_URL: proxies.rpc.url,
    SVC_ICL_DATABASE_URL: databaseUrl,
    ...withoutLimits,
    SVC_ICL_LOG_LEVEL: 'info',
  }
  let running = await startOne('icl')
  proxies.icl.target = running.url
  const icl: Part = {
    name: 'icl',
    process: () => running.process,
    control: iclControl,
    start: async () => {
      iclControl?.clear()
      running = await startOne('icl')
      proxies.icl.target = running.url
    },
    end: (signal) => endProcess(running.process, signal),
  }
  const place = {
    processes,
    folder,
    chain,
    iclUrl: proxies.icl.url,
    models: [model],
    mockAttestationKey,
    binary: await builtBinary(),
  }
  const prepared = await prepareNodes(place, nodeCount, proxies, control)
  const nodes = prepared.map(({ node, control }): NodePart => {
    let { process } = runNode(place, node)
    return {
      ...{ name: node.name, address: node.address, folder: node.folder, control },
      process: () => process,
      start: async () => {
        control?.clear()
        process = runNode(place, node).process
      },
      end: (signal) => endProcess(process, signal),
    }
  })
  return {
    ...{ store, chain, icl, iclUrl: proxies.icl.url, nodes, proxies, database },
    startReplica: () => startOne('icl-2'),
    setReplicas: (count: number) => {
      replicas = count
    },
    look: () => lookInto(databaseUrl),
    lookIntoFile: () => lookInto(`sqlite:${mirrorFile('icl')}`),
    forgetFile: () => rm(join(mirrorFile('icl'), '..'), { recursive: true, force: true }),
    damage: async () => (store === 'sqlite' ? await damageOf(file, folder) : undefined),
    lastLogs: () => lastLogs([icl, ...nodes]),
    keep: () => {
      isKept = true
      return folder
    },
  }
}

async function endProcess(running: Running, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  running.kill(signal)
  await running.exited
}

type Place = Parameters<typeof prepareNode>[0]

/** Makes the nodes, each with a wallet, a stake and an attestation. */
async function prepareNodes(
  place: Place,
  nodeCount: number,
  { rpc, provider }: Pick<World['proxies'], 'rpc' | 'provider'>,
  control: (name: string, prefix: string) => Control | undefined,
): Promise<readonly { readonly node: PreparedNode; readonly control: Control | undefined }[]> {
  const { rpcUrl, chainId, funder } = place.chain
  const writer = createChainWriter({ rpcUrl, chainId, account: funder })
  const names = Array.from({ length: nodeCount }, (_, index) => `node-${index + 1}`)
  return Promise.all(
    names.map(async (name) => {
      const own = control(name, join(place.folder, name, 'journal'))
      const node = await prepareNode(place, name, {
        OPENAI_API_KEY: `key-of-${name}`,
        SVC_OPENAI_BASE_URL: `${provider.url}/v1`,
        SVC_COFHE_ENDPOINT: rpc.url,
        ...own?.env,
      })
      await fundNode(writer, node)
      await stakeNode(place, node)
      await attestNode(place, node)
      return { node, control: own }
    }),
  )
}

const isSlow = (error: unknown): 0 | undefined =>
  error instanceof SvcError && error.retryable ? 0 : undefined
const tries = { attempts: 10, firstDelayMs: 500, maxDelayMs: 5_000 }

/** Opens the store as a guest; a busy server may be slow to let one in. */
const lookInto = (url: string): Promise<Store> =>
  retrying(systemClock, tries, undefined, isSlow, () => openStore(url, { guest: true }))

/** Checks a copy of a database that nobody has open: to open the file itself would change it. */
async function damageOf(file: string, folder: string): Promise<string | undefined> {
  const copy = join(folder, 'copy')
  await rm(copy, { recursive: true, force: true })
  await mkdir(copy)
  for (const end of ['', '-wal']) {
    await cp(`${file}${end}`, join(copy, `icl.db${end}`)).catch(() => {})
  }
  const database = new DatabaseSync(join(copy, 'icl.db'))
  try {
    const rows = database.prepare('PRAGMA integrity_check').all()
    const said = rows.map((row) => String(Object.values(row)[0])).join('; ')
    return said === 'ok' ? undefined : said
  } catch (error) {
    return String(error)
  } finally {
    database.close()
  }
}

async function lastLogs(parts: readonly Part[]): Promise<string> {
  const texts = parts.map(
    async ({ name, process }) => `--- ${name}\n${await lastLogLines(process().logFile)}`,
  )
  return (await Promise.all(texts)).join('\n')
}
