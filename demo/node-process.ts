import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Hex, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { nodeRegistryAbi } from '../lib/abi/node-registry.ts'
import { type ChainWriter, createChainWriter } from '../lib/chain/clients.ts'
import { Address } from '../lib/codecs.ts'
import { type LocalChain, stake } from './local-chain.ts'
import type { Processes, Running } from './processes.ts'
import { randomHex } from './random-hex.ts'

/** A node of the local world: a daemon in its own process with its own wallet and keystore. */
export type LocalNode = {
  readonly name: string
  readonly address: Address
  readonly folder: string
  /** The daemon, once it runs. */
  readonly process: Running
}

/** A node that has a configuration and a keystore, not yet a daemon. */
export type PreparedNode = Omit<LocalNode, 'process'> & {
  readonly env: Readonly<Record<string, string>>
  readonly privateKey: Hex
}

type NodePlace = {
  readonly processes: Processes
  readonly folder: string
  readonly chain: LocalChain
  readonly iclUrl: string
  readonly models: readonly string[]
  readonly mockAttestationKey: string
}

const main = join(import.meta.dirname, '..', 'node', 'main.ts')
const scryptN = '4096'
const allowance = stake + parseEther('10')

/** `svc-node init`: writes the configuration and a keystore for a new wallet. */
export async function prepareNode(
  place: NodePlace,
  name: string,
  providerEnv: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<PreparedNode> {
  const { processes, chain, iclUrl, models, mockAttestationKey } = place
  const folder = join(place.folder, name)
  await mkdir(folder, { mode: 0o700 })
  const privateKey: Hex = `0x${randomHex()}`
  const env = {
    SVC_CONFIG_PATH: join(folder, 'config.json'),
    SVC_KEY_PASSWORD: randomHex(),
    SVC_ICL_ENDPOINT: iclUrl,
    SVC_COFHE_ENDPOINT: chain.rpcUrl,
    SVC_SUPPORTED_MODEL_IDS: models.join(','),
    SVC_LOG_LEVEL: 'INFO',
    SVC_MOCK_ATTESTATION_KEY: mockAttestationKey,
    ...providerEnv,
  }
  const args = ['init', '--icl-endpoint', iclUrl, '--cofhe-endpoint', chain.rpcUrl]
  // The password is random: stretching it would only cost time.
  args.push('--models', models.join(','), '--attestation-backend', 'mock', '--scrypt-n', scryptN)
  args.push('--json')
  const output = await processes.run(
    {
      name: `${name}-init`,
      args: [main, ...args],
      env: { ...env, SVC_IMPORT_PRIVATE_KEY: privateKey },
    },
    signal,
  )
  const expected = Address.parse(privateKeyToAccount(privateKey).address)
  const made = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { address?: string }
  if (made.address?.toLowerCase() !== expected) {
    throw new Error(`svc-node init made the wallet ${made.address} instead of ${expected}`)
  }
  return { name, address: expected, folder, env, privateKey }
}

/** Gives the node's wallet its gas and stake, then registers it for tier 0. */
export async function registerNode(
  funder: ChainWriter,
  chain: LocalChain,
  node: PreparedNode,
  signal?: AbortSignal,
): Promise<void> {
  const hash = await funder.walletClient.sendTransaction({ to: node.address, value: allowance })
  await funder.publicClient.waitForTransactionReceipt({ hash })
  const account = privateKeyToAccount(node.privateKey)
  const writer = createChainWriter({ rpcUrl: chain.rpcUrl, chainId: chain.chainId, account })
  const sent = await writer.walletClient.writeContract({
    address: chain.contracts.nodeRegistry,
    abi: nodeRegistryAbi,
    functionName: 'register',
    args: [[0]],
    value: stake,
  })
  const { status } = await writer.publicClient.waitForTransactionReceipt({ hash: sent })
  signal?.throwIfAborted()
  if (status !== 'success') throw new Error(`Registering ${node.name} reverted`)
}

/** `svc-node attest --mock`. */
export const attestNode = (
  { processes }: NodePlace,
  node: PreparedNode,
  signal?: AbortSignal,
): Promise<string> =>
  processes.run(
    { name: `${node.name}-attest`, args: [main, 'attest', '--mock'], env: node.env },
    signal,
  )

/** `svc-node run`: starts the daemon. */
export const runNode = ({ processes }: NodePlace, node: PreparedNode): LocalNode => ({
  name: node.name,
  address: node.address,
  folder: node.folder,
  process: processes.start({ name: node.name, args: [main, 'run'], env: node.env }),
})
