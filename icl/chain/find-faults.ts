import { type Abi, stringToHex, zeroHash } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { isUnreachable } from '../../lib/chain/chain-error.ts'
import type { ChainWriter, ReadClient } from '../../lib/chain/clients.ts'
import type { Address } from '../../lib/codecs.ts'
import { reading } from './reading.ts'

type Contracts = {
  readonly nodeRegistry: Address
  readonly promptKeyStore: Address
  readonly resultRegistry: Address
}

const gasOfOneCommit = 60_000n
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
      faultOf(publicClient, kinds.nodeRegistry, nodeRegistry, coordinator),
      keyStoreFault(publicClient, promptKeyStore, nodeRegistry),
      faultOf(publicClient, kinds.resultRegistry, resultRegistry, coordinator),
      eventsFault(publicClient, promptKeyStore),
      fundsFault(publicClient, coordinator),
    ])
    return faults.flatMap((fault) => fault ?? [])
  })
}

async function chainFault(publicClient: ReadClient) {
  const [actual, expected] = [await publicClient.getChainId(), publicClient.chain?.id]
  return actual === expected
    ? undefined
    : `the RPC serves chain ${actual}, and the settings say ${expected}`
}

/** Returns what is wrong at an address that does not answer as the contract would. */
export async function contractFault(client: ReadClient, name: string, address: Address) {
  const isAbsent = (await client.getCode({ address })) === undefined
  return isAbsent
    ? `${name}: there is no contract at ${address}`
    : `${name}: the contract at ${address} is another one, or reverts whatever it is asked`
}

/** Each call is one that only this contract answers. */
const kinds = {
  nodeRegistry: { name: 'NodeRegistry', abi: nodeRegistryAbi, functionName: 'minStake' },
  resultRegistry: {
    ...{ name: 'ResultRegistry', abi: resultRegistryAbi, functionName: 'resultOf' },
    args: [zeroHash],
  },
} as const

async function faultOf(
  publicClient: ReadClient,
  { name, ...own }: (typeof kinds)[keyof typeof kinds],
  address: Address,
  coordinator: string,
): Promise<string | undefined> {
  const call: { abi: Abi; functionName: string } = own
  const answer = await publicClient.readContract({ address, ...call }).catch(() => undefined)
  if (answer === undefined) return contractFault(publicClient, name, address)
  const role = { abi: nodeRegistryAbi, functionName: 'holderOf', args: [coordinatorRole] } as const
  const holder = await publicClient.readContract({ address, ...role })
  if (holder.toLowerCase() === coordinator.toLowerCase()) return undefined
  return `${name}: ${coordinator} does not have the coordinator role at ${address}`
}

async function keyStoreFault(client: ReadClient, address: Address, nodeRegistry: Address) {
  const [contract, functionName] = [{ address, abi: promptKeyStoreAbi }, 'nodeRegistry'] as const
  const asked = await client.readContract({ ...contract, functionName }).catch(() => undefined)
  if (asked === undefined) return contractFault(client, 'PromptKeyStore', address)
  if (asked.toLowerCase() === nodeRegistry) return undefined
  return `PromptKeyStore: the one at ${address} asks the NodeRegistry at ${asked.toLowerCase()}, and the settings name ${nodeRegistry}`
}

/** Lists are drawn from the event that stored a key. Some providers answer all but `eth_getLogs`. */
async function eventsFault(client: ReadClient, address: Address) {
  // Of several servers behind one address, some may not have the newest block yet.
  const newest = await client.getBlockNumber()
  const block = newest > 2n ? newest - 2n : newest
  const asked = { address, fromBlock: block, toBlock: block }
  return await client.getLogs(asked).then(
    () => undefined,
    (error: unknown) => {
      if (isUnreachable(error)) throw error
      return 'the RPC fails eth_getLogs: no list can be drawn'
    },
  )
}

async function fundsFault(publicClient: ReadClient, address: Address | `0x${string}`) {
  const [wei, price] = await Promise.all([
    publicClient.getBalance({ address }),
    publicClient.getGasPrice(),
  ])
  if (wei >= price * gasOfOneCommit) return undefined
  return `the coordinator ${address} has not enough gas money for one result`
}
