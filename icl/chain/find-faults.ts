import { type Abi, type PublicClient, stringToHex } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import type { ChainWriter } from '../../lib/chain/clients.ts'
import type { Address } from '../../lib/codecs.ts'
import { reading } from './reading.ts'

type Contracts = {
  readonly nodeRegistry: Address
  readonly promptKeyStore: Address
  readonly resultRegistry: Address
}

const gasOfOneCommit = 200_000n
const coordinatorRole = stringToHex('coordinator', { size: 32 })

/** Returns what keeps the coordinator from its work on chain. Throws SvcError `chain-*` when the chain does not answer. */
export async function findFaults(
  { publicClient, walletClient }: ChainWriter,
  { nodeRegistry, promptKeyStore, resultRegistry }: Contracts,
): Promise<readonly string[]> {
  const coordinator = walletClient.account.address
  return reading('checking the contracts', async () => {
    const faults = await Promise.all([
      chainFault(publicClient),
      faultOf(publicClient, 'NodeRegistry', nodeRegistry, nodeRegistryAbi, coordinator),
      faultOf(publicClient, 'PromptKeyStore', promptKeyStore),
      faultOf(publicClient, 'ResultRegistry', resultRegistry, resultRegistryAbi, coordinator),
      fundsFault(publicClient, coordinator),
    ])
    return faults.flatMap((fault) => fault ?? [])
  })
}

async function chainFault(publicClient: PublicClient) {
  const [actual, expected] = [await publicClient.getChainId(), publicClient.chain?.id]
  return actual === expected
    ? undefined
    : `the RPC serves chain ${actual}, and the settings say ${expected}`
}

async function absenceOf(publicClient: PublicClient, name: string, address: Address) {
  const isAbsent = (await publicClient.getCode({ address })) === undefined
  return isAbsent ? `${name}: there is no contract at ${address}` : undefined
}

/** Returns what is wrong at an address that does not answer as the contract would. */
export const contractFault = async (client: PublicClient, name: string, address: Address) =>
  (await absenceOf(client, name, address)) ??
  `${name}: the contract at ${address} is another one, or reverts whatever it is asked`

async function faultOf(
  publicClient: PublicClient,
  name: string,
  address: Address,
  abi?: Abi,
  coordinator?: string,
): Promise<string | undefined> {
  if (!abi) return absenceOf(publicClient, name, address)
  const holder = await publicClient
    .readContract({ address, abi, functionName: 'holderOf', args: [coordinatorRole] })
    .catch(() => undefined)
  if (typeof holder !== 'string') return contractFault(publicClient, name, address)
  if (holder.toLowerCase() === coordinator?.toLowerCase()) return undefined
  return `${name}: ${coordinator} does not have the coordinator role at ${address}`
}

async function fundsFault(publicClient: PublicClient, address: Address | `0x${string}`) {
  const [wei, price] = await Promise.all([
    publicClient.getBalance({ address }),
    publicClient.getGasPrice(),
  ])
  if (wei >= price * gasOfOneCommit) return undefined
  return `the coordinator ${address} has not enough gas money for one result`
}
