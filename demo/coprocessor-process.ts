import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { defaultKeysFolder } from '../contracts/local/coprocessor/parameters.ts'
import { Address } from '../lib/codecs.ts'
import { systemClock } from '../lib/system.ts'
import { lastLogLines, type Processes, type Running } from './processes.ts'

/** A running local coprocessor. */
export type CoprocessorProcess = {
  readonly url: string
  /** Whose signatures its chain has to accept. */
  readonly verifier: Address
  readonly process: Running
}

// The first one of a user makes its keys, on a busy machine for minutes.
const readyTimeoutMs = 15 * 60_000
const pollMs = 100
const main = join(import.meta.dirname, '..', 'contracts', 'local', 'coprocessor', 'main.ts')

const Introduction = z.object({ verifier: Address })

/** Starts the local coprocessor of a chain and resolves once it is ready; it makes its keys first if this user has none. */
export async function startCoprocessor(options: {
  readonly processes: Processes
  readonly rpcUrl: string
  readonly chainId: number
  /** Keeps its ciphertexts. */
  readonly dataFolder: string
  /** A free one when left out. */
  readonly port?: number
  readonly progress?: (detail: string) => void
  readonly signal?: AbortSignal | undefined
}): Promise<CoprocessorProcess> {
  const { processes, rpcUrl, chainId, dataFolder, port = 0, progress, signal } = options
  const args = [main, '--rpc-url', rpcUrl, '--chain-id', String(chainId), '--port', String(port)]
  args.push('--data', dataFolder, '--keys', defaultKeysFolder(process.env))
  const running = processes.start({ name: 'coprocessor', args })
  // It may have been started before, and then has written to the same file.
  const before = (await readFile(running.logFile, 'utf8').catch(() => '')).length
  const untilMs = systemClock.now() + readyTimeoutMs
  for (;;) {
    const told = (await readFile(running.logFile, 'utf8')).slice(before)
    const url = /\bat (http:\S+)\n/.exec(told)?.[1]
    if (url !== undefined) return { url, verifier: await verifierOf(url), process: running }
    if (running.hasExited() || systemClock.now() > untilMs) {
      throw new Error(`The coprocessor did not start:\n${await lastLogLines(running.logFile)}`)
    }
    progress?.(told.match(/making keys: \d+ s/g)?.at(-1) ?? '')
    await systemClock.sleep(pollMs, signal)
  }
}

const verifierOf = async (url: string): Promise<Address> => {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) })
  return Introduction.parse(await answer.json()).verifier
}
