import { type ChildProcess, spawn } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Hex, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'

const DEV_MNEMONIC = 'test test test test test test test test test test test junk'
const ACCOUNT_COUNT = 10
const START_TIMEOUT_MS = 20_000

/** A funded account of a local chain. Its key is public. */
export type DevAccount = { readonly address: Hex; readonly privateKey: Hex }

/** A running local chain. */
export type Anvil = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly accounts: readonly [DevAccount, DevAccount, ...DevAccount[]]
  readonly pid: number
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>
  /** Ends the process and waits until it has ended. */
  stop(): Promise<void>
}

const devAccounts = (): Anvil['accounts'] => {
  const accountAt = (index: number): DevAccount => {
    const account = mnemonicToAccount(DEV_MNEMONIC, { addressIndex: index })
    const privateKey = account.getHdKey().privateKey
    if (privateKey === null) throw new Error('the development mnemonic gave no private key')
    return { address: account.address.toLowerCase() as Hex, privateKey: toHex(privateKey) }
  }
  const rest = Array.from({ length: ACCOUNT_COUNT - 2 }, (_, index) => accountAt(index + 2))
  return [accountAt(0), accountAt(1), ...rest]
}

const findBinary = async (): Promise<string> => {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const ours = createRequire(import.meta.url)
  const anvils = createRequire(ours.resolve('@foundry-rs/anvil/package.json'))
  try {
    const folder = dirname(anvils.resolve(`@foundry-rs/anvil-${platform}/package.json`))
    const file = join(folder, 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
    await chmod(file, 0o755).catch(() => {})
    return file
  } catch (cause) {
    throw new Error(`anvil has no binary for ${platform}`, { cause })
  }
}

// The watcher's input closes when this process ends in any way. Then the watcher kills the chain.
const guard = (pid: number): ChildProcess | undefined => {
  if (process.platform === 'win32') return undefined
  const watcher = spawn('/bin/sh', ['-c', `cat >/dev/null; kill -9 ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watcher.unref()
  return watcher
}

const waitUntilListening = (child: ChildProcess, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ''
    const fail = (why: string) =>
      reject(new Error(`anvil ${why}${output === '' ? '' : `: ${output.slice(-500).trim()}`}`))
    const read = (chunk: unknown) => {
      output = `${output}${chunk}`.slice(-4000)
      const address = /Listening on (\S+:\d+)/.exec(output)?.[1]
      if (address !== undefined) resolve(`http://${address}`)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', (error) => fail(`did not start (${error.message})`))
    child.once('exit', (code) => fail(`ended with code ${code}`))
    signal.addEventListener('abort', () => fail('was not ready in time'), { once: true })
  })

/**
 * Starts a local chain, by default on a free port, and resolves when it listens. Every transaction gets its own block at once. Throws with
 * anvil's output if it cannot.
 */
export const startAnvil = async (
  options: {
    readonly chainId?: number
    readonly port?: number
    readonly signal?: AbortSignal
  } = {},
): Promise<Anvil> => {
  const { chainId = 31337, port = 0, signal } = options
  signal?.throwIfAborted()
  const args = ['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId)]
  args.push('--mnemonic', DEV_MNEMONIC, '--accounts', String(ACCOUNT_COUNT))
  const child = spawn(await findBinary(), args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C in a terminal must not end the chain before its clients.
    detached: process.platform !== 'win32',
  })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const watcher = child.pid === undefined ? undefined : guard(child.pid)
  void exited.then(() => watcher?.kill('SIGKILL'))
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  }
  const timeout = AbortSignal.timeout(START_TIMEOUT_MS)
  const ended = signal === undefined ? timeout : AbortSignal.any([timeout, signal])
  try {
    const rpcUrl = await waitUntilListening(child, ended)
    signal?.addEventListener('abort', () => void stop(), { once: true })
    return { rpcUrl, chainId, accounts: devAccounts(), pid: child.pid ?? 0, exited, stop }
  } catch (error) {
    await stop()
    signal?.throwIfAborted()
    throw error
  }
}
