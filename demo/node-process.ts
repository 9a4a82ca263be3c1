import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Hex, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { ChainWriter } from '../lib/chain/clients.ts'
import { Address } from '../lib/codecs.ts'
import { fundWallet } from './fund-wallet.ts'
import { type LocalChain, stake } from './local-chain.ts'
import type { Processes, Running } from './processes.ts'
import { randomHex } from './random-hex.ts'

/** A node with a configuration and a keystore, and no daemon yet. */
export type PreparedNode = {
  readonly name: string
  readonly address: Address
  readonly folder: string
  /** The environment of its commands: settings, password and keys. */
  readonly env: Readonly<Record<string, string>>
  readonly privateKey: Hex
}

/** A node of the local world: a daemon in a process of its own, with its own wallet and keystore. */
export type LocalNode = PreparedNode & { readonly process: Running }

type NodeEnvironment = {
  readonly processes: Processes
  readonly folder: string
  readonly chain: LocalChain
  readonly iclUrl: string
  readonly models: readonly string[]
  readonly mockAttestationKey: string
  /** The gateway from which it downloads blobs first, the ICL by default. */
  readonly gatewayUrl?: string | undefined
  /** The svc-node executable to run, the sources by default. */
  readonly binary?: string | undefined
}

const main = join(import.meta.dirname, '..', 'node', 'main.ts')
/** Returns the command for `svc-node` with these arguments. */
const svcNode = (
  { binary }: NodeEnvironment,
  args: readonly string[],
): { readonly program?: string; readonly args: readonly string[] } =>
  binary === undefined ? { args: [main, ...args] } : { program: binary, args }

/** Runs a command of a node to its end. Its log has the name of both. */
const run = (
  environment: NodeEnvironment,
  { name, env }: Command,
  args: readonly [string, ...string[]],
  signal: AbortSignal | undefined,
): Promise<string> =>
  environment.processes.run(
    { name: `${name}-${args[0]}`, ...svcNode(environment, args), env },
    signal,
  )
type Command = Pick<PreparedNode, 'name' | 'env'>

const scryptN = '4096'
const allowance = stake + parseEther('10')

/** `svc-node init`: writes the configuration and a keystore for a new wallet. */
export async function prepareNode(
  environment: NodeEnvironment,
  name: string,
  providerEnv: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<PreparedNode> {
  const { chain, iclUrl, models, mockAttestationKey, gatewayUrl } = environment
  const folder = join(environment.folder, name)
  await mkdir(folder, { mode: 0o700 })
  const privateKey: Hex = `0x${randomHex()}`
  const env = {
    SVC_CONFIG_PATH: join(folder, 'config.json'),
    SVC_KEY_PASSWORD: randomHex(),
    SVC_ICL_ENDPOINT: iclUrl,
    SVC_COFHE_ENDPOINT: chain.rpcUrl,
    ...(chain.coprocessor && { SVC_COFHE_URLS: chain.coprocessor.cofhe_url }),
    SVC_SUPPORTED_MODEL_IDS: models.join(','),
    SVC_LOG_LEVEL: 'INFO',
    SVC_MOCK_ATTESTATION_KEY: mockAttestationKey,
    ...(gatewayUrl !== undefined && { SVC_IPFS_GATEWAY: gatewayUrl }),
    ...providerEnv,
  }
  const args = ['init', '--icl-endpoint', iclUrl, '--cofhe-endpoint', chain.rpcUrl] as const
  // The password is random, so stretching it would only take time.
  const more = [
    '--models',
    models.join(','),
    '--attestation-backend',
    'mock',
    '--scrypt-n',
    scryptN,
  ]
  const own = { name, env: { ...env, SVC_IMPORT_PRIVATE_KEY: privateKey } }
  const output = await run(environment, own, [...args, ...more, '--json'], signal)
  const expected = Address.parse(privateKeyToAccount(privateKey).address)
  const made = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { address?: string }
  if (made.address?.toLowerCase() !== expected) {
    throw new Error(`svc-node init made the wallet ${made.address} instead of ${expected}`)
  }
  return { name, address: expected, folder, env, privateKey }
}

/** Sends the node's wallet its gas money and stake. */
export const fundNode = (funder: ChainWriter, { address }: PreparedNode): Promise<void> =>
  fundWallet(funder, address, allowance)

/** `svc-node register`: stakes the minimum, for tier 0. */
export const stakeNode = (
  environment: NodeEnvironment,
  node: PreparedNode,
  signal?: AbortSignal,
): Promise<string> => {
  const registry = environment.chain.contracts.nodeRegistry
  return run(environment, node, ['register', '--yes', '--node-registry', registry], signal)
}

/** `svc-node attest --mock`. */
export const attestNode = (
  environment: NodeEnvironment,
  node: PreparedNode,
  signal?: AbortSignal,
): Promise<string> => run(environment, node, ['attest', '--mock'], signal)

/** `svc-node run`: starts the daemon. */
export const runNode = (environment: NodeEnvironment, node: PreparedNode): LocalNode => {
  const { name, env } = node
  return {
    ...node,
    process: environment.processes.start({ name, ...svcNode(environment, ['run']), env }),
  }
}
