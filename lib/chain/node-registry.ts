import { nodeRegistryAbi } from '../abi/node-registry.ts'
import type { Address } from '../codecs.ts'
import type { ChainReader } from './clients.ts'

/** What NodeRegistry says of a node now. */
export type RegisteredNode = {
  readonly active: boolean
  /** Whether it has the least stake there; a node that is leaving still has, until it withdraws it. */
  readonly staked: boolean
  readonly modelTiers: readonly number[]
}

/** A node of NodeRegistry; throws what the RPC throws. */
export async function readNode(
  { publicClient }: ChainReader,
  registry: Address,
  node: Address,
): Promise<RegisteredNode> {
  const contract = { address: registry, abi: nodeRegistryAbi } as const
  const [state, minStake] = await Promise.all([
    publicClient.readContract({ ...contract, functionName: 'nodeOf', args: [node] }),
    publicClient.readContract({ ...contract, functionName: 'minStake' }),
  ])
  return {
    active: state.active,
    staked: state.registeredAt > 0n && state.stake >= minStake,
    modelTiers: state.modelTiers,
  }
}
