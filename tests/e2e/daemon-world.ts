import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask } from '../../demo/ask.ts'
import { startIcl } from '../../demo/icl-process.ts'
import { startLocalChain } from '../../demo/local-chain.ts'
import {
  attestNode,
  fundNode,
  type LocalNode,
  prepareNode,
  runNode,
  stakeNode,
} from '../../demo/node-process.ts'
import { createProcesses, type Running } from '../../demo/processes.ts'
import { randomHex } from '../../demo/random-hex.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import type { Inference } from '../../lib/client/inference.ts'
import { type JobRecord, readHistory } from '../../node/journal/history.ts'
import { builtBinary } from '../binary/executable.ts'
import { eventually } from '../eventually.ts'
import { whole } from '../whole.ts'
import { startProxy } from './proxy.ts'
import { startSlowProvider } from './slow-provider.ts'

const model = 'openai:gpt-4o-mini'

/** Three executables as daemons, a real ICL behind a proxy, a real chain, and a provider that answers when a test says so. */
export type DaemonWorld = Awaited<ReturnType<typeof startDaemonWorld>>

/** How a world differs from the usual one. */
type WorldOptions = {
  /** Changes the environment of each daemon. */
  readonly nodeEnv?: (index: number) => Readonly<Record<string, string>>
  /** Puts a proxy between the daemons and the chain's RPC. */
  readonly rpcProxy?: boolean
}

/** Starts it all; when that fails, nothing is left of it. */
export const startDaemonWorld = (options: WorldOptions = {}) =>
  whole((stops) => build(options, stops))

async function build(options: WorldOptions, stops: (() => unknown)[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-daemons-'))
  stops.push(() => rm(folder, { recursive: true, force: true }))
  const provider = await startSlowProvider()
  stops.push(provider.stop)
  const proxy = await startProxy()
  stops.push(proxy.stop)
  const chain = await startLocalChain()
  stops.push(chain.stop)
  const rpc = await startProxy()
  stops.push(rpc.stop)
  rpc.target = chain.rpcUrl
  const processes = createProcesses(folder)
  const nodes: LocalNode[] = []
  const copies: Running[] = []
  stops.push(async () => {
    provider.release()
    await processes.stop([...nodes.map(({ process }) => process), ...copies])
    await processes.close()
  })
  const mockAttestationKey = randomHex()
  const env = { SVC_ICL_PUBLIC_URL: proxy.url }
  const icl = await startIcl({ processes, folder, chain, mockAttestationKey, env })
  proxy.target = icl.url
  const iclUrl = proxy.url
  const binary = await builtBinary()
  const place = { processes, folder, chain, iclUrl, models: [model], mockAttestationKey, binary }
  const { rpcUrl, chainId, funder } = chain
  const writer = createChainWriter({ rpcUrl, chainId, account: funder })
  for (const index of [0, 1, 2]) {
    const prepared = await prepareNode(place, `node-${index}`, {
      OPENAI_API_KEY: `key-of-node-${index}`,
      SVC_OPENAI_BASE_URL: provider.url,
      ...(options.rpcProxy && { SVC_COFHE_ENDPOINT: rpc.url }),
      ...options.nodeEnv?.(index),
    })
    await fundNode(writer, prepared)
    await stakeNode(place, prepared)
    await attestNode(place, prepared)
    nodes.push(runNode(place, prepared))
  }
  const logOf = (index: number) => readFile(nodes[index]!.process.logFile, 'utf8')
  const logged = (index: number, fragment: string) =>
    eventually(`node ${index} logs "${fragment}"`, async () =>
      (await logOf(index)).includes(fragment),
    )
  for (const index of [0, 1, 2]) await logged(index, 'The ICL considers this node')
  return {
    folder,
    chain,
    processes,
    proxy,
    rpc,
    provider,
    nodes,
    logOf,
    logged,
    // What other comparators make of unrelated answers has a little chance in it.
    ask: (prompt: string): Promise<Inference> =>
      ask({ chain, icl: { url: proxy.url } }, { prompt, model, comparator: 'exact' }),
    /** Which nodes have the seats of the job that began last, the first seat first. */
    rolesOf: (calls: number) =>
      eventually('three nodes work', async () => {
        const logs = await Promise.all([0, 1, 2].map(logOf))
        const starts = logs.map((log) =>
          log.split('\n').filter((line) => /: starting as /.test(line)),
        )
        if (!starts.every((lines) => lines.length >= calls)) return undefined
        const first = starts.findIndex((lines) => lines.at(-1)?.endsWith('leader'))
        return first < 0 ? undefined : [first, ...[0, 1, 2].filter((node) => node !== first)]
      }),
    /** kill -9. */
    kill: async (index: number): Promise<void> => {
      nodes[index]!.process.kill('SIGKILL')
      await nodes[index]!.process.exited
    },
    /** Starts it again, with the same files and environment. */
    restart: (index: number): void => {
      nodes[index] = runNode(place, nodes[index]!)
    },
    /** Starts it again by another command line, with more in its environment. */
    restartAs: (
      index: number,
      args: readonly string[],
      more: Record<string, string> = {},
    ): void => {
      const { name, env } = nodes[index]!
      const running = processes.start({ name, args, env: { ...env, ...more } })
      nodes[index] = { ...nodes[index]!, process: running }
    },
    /** Copies the folder of a node, as a backup does, for another daemon with the same wallet. */
    copy: async (index: number): Promise<{ readonly start: () => Running }> => {
      const { name, env, folder: from } = nodes[index]!
      const to = join(folder, `copy-of-${name}`)
      await cp(from, to, { recursive: true })
      const copied = { ...env, SVC_CONFIG_PATH: join(to, 'config.json') }
      const start = () => {
        const node = runNode(place, { ...nodes[index]!, name: `copy-of-${name}`, env: copied })
        copies.push(node.process)
        return node.process
      }
      return { start }
    },
    journalOf: (index: number) => readFile(join(nodes[index]!.folder, 'journal.jsonl'), 'utf8'),
    historyOf: (index: number): Promise<readonly JobRecord[]> =>
      readHistory(join(nodes[index]!.folder, 'jobs.jsonl')),
  }
}
