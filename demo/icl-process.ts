import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { type IclCommand, iclCommand } from './icl-command.ts'
import type { LocalChain } from './local-chain.ts'
import type { Processes, Running } from './processes.ts'
import { randomHex } from './random-hex.ts'
import type { DemoRuntime } from './runtime-programs.ts'
import { respondsAt, untilReady } from './until-ready.ts'

/** A running ICL. */
export type IclProcess = {
  readonly url: string
  readonly process: Running
  /** The URL of its store. */
  readonly databaseUrl: string
  readonly command: IclCommand
}

// An ICL that ends is noticed at once. The limit is for a busy machine.
const waiting = { timeoutMs: 180_000, pollMs: 50 }

/** Starts the ICL on a free port and resolves when it is ready. Ends it and throws if it is not ready within three minutes. */
export async function startIcl(options: {
  readonly processes: Processes
  readonly folder: string
  readonly chain: LocalChain
  readonly mockAttestationKey: string
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The name of its log, `icl` by default. */
  readonly name?: string | undefined
  /** The runtime, Bun by default. */
  readonly runtime?: DemoRuntime | undefined
  readonly signal?: AbortSignal | undefined
}): Promise<IclProcess> {
  const { processes, folder, chain, mockAttestationKey, env, signal } = options
  const { runtime = 'bun', name = 'icl' } = options
  const port = env?.SVC_ICL_PORT ?? String(await freePort())
  const own = `http://127.0.0.1:${port}`
  // A proxy in front of the ICL must know the port beforehand. Then clients reach the ICL through the proxy.
  const front = env?.SVC_ICL_PORT && env.SVC_ICL_PUBLIC_URL
  const url = front || own
  const given: Record<string, string> = {
    SVC_ICL_HOST: '127.0.0.1',
    SVC_ICL_PORT: port,
    SVC_ICL_PUBLIC_URL: url,
    SVC_ICL_SECRET: randomHex(),
    SVC_ICL_DATABASE_URL: `sqlite:${join(folder, 'icl.db')}`,
    // Not the Kubo that may run on this machine.
    SVC_ICL_BLOBS: 'store',
    SVC_ICL_RPC_URL: chain.rpcUrl,
    SVC_ICL_CHAIN_ID: String(chain.chainId),
    SVC_ICL_COORDINATOR_KEY: chain.coordinatorKey,
    SVC_ICL_NODE_REGISTRY: chain.contracts.nodeRegistry,
    SVC_ICL_PROMPT_KEY_STORE: chain.contracts.promptKeyStore,
    SVC_ICL_RESULT_REGISTRY: chain.contracts.resultRegistry,
    SVC_ICL_MOCK_ATTESTATION_KEY: mockAttestationKey,
    SVC_ICL_LOG_LEVEL: 'debug',
    ...env,
  }
  const command = await iclCommand(runtime, given, folder)
  const { SVC_ICL_DATABASE_URL: databaseUrl = '' } = command.env
  const process = processes.start({ name, ...command })
  try {
    await untilReady(process, { ...waiting, signal }, () => respondsAt(`${own}/readyz`))
  } catch (error) {
    // Left running, a late ICL would hold a lock for which its caller has to wait.
    await processes.stop([process], 0)
    throw error
  }
  return { url, process, databaseUrl, command }
}
