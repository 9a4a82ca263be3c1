import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask } from '../lib/outgoing.ts'
import { SvcError } from '../lib/svc-error.ts'
import { systemFetch } from '../lib/system-fetch.ts'
import { freePort } from './free-port.ts'
import type { Processes, Running } from './processes.ts'
import { respondsAt, untilReady } from './until-ready.ts'

/** A running Kubo that has no connections to other machines. */
export type KuboProcess = {
  readonly rpcUrl: string
  readonly gatewayUrl: string
  readonly process: Running
  /** `kill` ends it at once. `restart` starts it again with the same blocks, on the same ports. */
  readonly kill: () => Promise<void>
  readonly restart: () => Promise<void>
}

const waiting = { timeoutMs: 60_000, pollMs: 50 }

type Tools = { readonly kubo: () => { readonly path: string; readonly version: string } }

/** Returns the path of Kubo on this machine, or why it is missing. */
export async function findKubo(): Promise<
  { readonly path: string } | { readonly missing: string }
> {
  const tools = (await import(new URL('../scripts/tools.mjs', import.meta.url).href)) as Tools
  const { path, version } = tools.kubo()
  if (existsSync(path)) return { path }
  return { missing: `Kubo ${version} is not built (node scripts/install-tools.mjs kubo builds it)` }
}

/** Returns the path of Kubo. Throws SvcError `kubo-missing`. */
export async function kuboPath(): Promise<string> {
  const found = await findKubo()
  if ('path' in found) return found.path
  throw new SvcError('kubo-missing', 'Kubo is not built here', {
    hint: 'Run `node scripts/install-tools.mjs kubo`, which builds it with Go in a few minutes.',
  })
}

/** Starts a Kubo with a new repository in `folder`, offline, on free ports. Resolves when it responds. */
export async function startKubo(options: {
  readonly processes: Processes
  readonly folder: string
  readonly path: string
  readonly signal?: AbortSignal | undefined
}): Promise<KuboProcess> {
  const { processes, path: program, signal } = options
  const repo = join(options.folder, 'kubo')
  const env = { IPFS_PATH: repo, IPFS_TELEMETRY: 'off' }
  await mkdir(repo, { mode: 0o700 })
  const init = ['init', '--profile=test', '--empty-repo']
  await processes.run({ name: 'kubo-init', program, args: init, env }, signal)
  const [rpcPort, gatewayPort] = [await freePort(), await freePort()]
  await setPorts(join(repo, 'config'), rpcPort, gatewayPort)
  const rpcUrl = `http://127.0.0.1:${rpcPort}`
  const start = async (): Promise<Running> => {
    const args = ['daemon', '--offline']
    const running = processes.start({ name: 'kubo', program, args, env })
    const look = () => respondsAt(`${rpcUrl}/api/v0/version`, 'POST')
    await untilReady(running, { ...waiting, signal }, look)
    return running
  }
  let process = await start()
  return {
    rpcUrl,
    gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
    get process() {
      return process
    },
    kill: () => processes.stop([process], 0),
    restart: async () => {
      await processes.stop([process])
      process = await start()
    },
  }
}

async function setPorts(file: string, rpcPort: number, gatewayPort: number): Promise<void> {
  const config = JSON.parse(await readFile(file, 'utf8')) as { Addresses: object }
  const at = (port: number) => `/ip4/127.0.0.1/tcp/${port}`
  const Addresses = { ...config.Addresses, API: at(rpcPort), Gateway: at(gatewayPort) }
  await writeFile(file, JSON.stringify({ ...config, Addresses }), { mode: 0o600 })
}

/** Whether a Kubo has a block itself, according to its RPC. */
export async function hasBlock({ rpcUrl }: KuboProcess, cid: string): Promise<boolean> {
  const query = new URLSearchParams({ arg: cid, offline: 'true' })
  const url = `${rpcUrl}/api/v0/block/stat?${query}`
  const asked = { method: 'POST', signal: AbortSignal.timeout(10_000), maxBytes: 4_096 }
  return (await ask(systemFetch, url, asked)).ok
}
