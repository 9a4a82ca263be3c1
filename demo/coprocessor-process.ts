import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { defaultKeysFolder } from '../contracts/local/coprocessor/parameters.ts'
import { Address } from '../lib/codecs.ts'
import { ask } from '../lib/outgoing.ts'
import { parseJson } from '../lib/parse-json.ts'
import { systemFetch } from '../lib/system-fetch.ts'
import type { Processes, Running } from './processes.ts'
import { untilReady } from './until-ready.ts'

/** A running local coprocessor. */
export type CoprocessorProcess = {
  readonly url: string
  /** The signer that its chain must accept. */
  readonly verifier: Address
  readonly process: Running
}

// A user's first coprocessor makes its keys, which takes minutes on a busy machine.
const waiting = { timeoutMs: 15 * 60_000, pollMs: 100 }
const main = join(import.meta.dirname, '..', 'contracts', 'local', 'coprocessor', 'main.ts')

const Introduction = z.object({ verifier: Address })

/** Starts a chain's local coprocessor and resolves when it is ready. It makes its keys first if this user has none. */
export async function startCoprocessor(options: {
  readonly processes: Processes
  readonly rpcUrl: string
  readonly chainId: number
  /** The folder of its ciphertexts. */
  readonly dataFolder: string
  /** A free port if left out. */
  readonly port?: number
  readonly progress?: (detail: string) => void
  readonly signal?: AbortSignal | undefined
}): Promise<CoprocessorProcess> {
  const { processes, rpcUrl, chainId, dataFolder, port = 0, progress, signal } = options
  const args = [main, '--rpc-url', rpcUrl, '--chain-id', String(chainId), '--port', String(port)]
  args.push('--data', dataFolder, '--keys', defaultKeysFolder(process.env))
  const running = processes.start({ name: 'coprocessor', args })
  // An earlier start may have written to the same file.
  const before = (await readFile(running.logFile, 'utf8').catch(() => '')).length
  const url = await untilReady(running, { ...waiting, signal }, async () => {
    const told = (await readFile(running.logFile, 'utf8')).slice(before)
    progress?.(told.match(/making keys: \d+ s/g)?.at(-1) ?? '')
    return /\bat (http:\S+)\n/.exec(told)?.[1]
  })
  return { url, verifier: await verifierOf(url), process: running }
}

const verifierOf = async (url: string): Promise<Address> => {
  const asked = { signal: AbortSignal.timeout(5_000), maxBytes: 4_096 }
  return Introduction.parse(parseJson((await ask(systemFetch, url, asked)).bytes)).verifier
}
