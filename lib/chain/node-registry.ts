import { nodeRegistryAbi } from '../abi/node-registry.ts'
import { Address } from '../codecs.ts'
import type { ChainReader, ReadClient } from './clients.ts'

/** A node's entry in NodeRegistry. */
export type RegisteredNode = {
  readonly active: boolean
  /** True when it has the least stake. A leaving node has it until it withdraws. */
  readonly staked: boolean
  readonly modelTiers: readonly number[]
}

/** Reads a node of NodeRegistry, now or as of a block; throws what the RPC throws. */
export async function readNode(
  { publicClient }: ChainReader,
  registry: Address,
  node: Address,
  blockNumber?: bigint,
): Promise<RegisteredNode> {
  const at = blockNumber === undefined ? {} : { blockNumber }
  const contract = { address: registry, abi: nodeRegistryAbi, ...at } as const
  const [state, minStake] = await Promise.all([
    publicClient.readContract({ ...contract, functionName: 'nodeOf', args: [node] }),
    leastStake(publicClient, registry, blockNumber),
  ])
  return {
    active: state.active,
    staked: state.registeredAt > 0n && state.stake >= minStake,
    modelTiers: state.modelTiers,
  }
}

const readingStake = new WeakMap<ReadClient, Map<string, Promise<bigint>>>()

/** Reads the least stake, once for all nodes that are read at the same time. */
function leastStake(
  client: ReadClient,
  registry: Address,
  blockNumber: bigint | undefined,
): Promise<bigint> {
  const underWay = readingStake.get(client) ?? new Map<string, Promise<bigint>>()
  readingStake.set(client, underWay)
  const name = `${registry} ${blockNumber}`
  const known = underWay.get(name)
  if (known) return known
  const at = blockNumber === undefined ? {} : { blockNumber }
  const contract = { address: registry, abi: nodeRegistryAbi, ...at } as const
  const read = client
    .readContract({ ...contract, functionName: 'minStake' })
    .finally(() => underWay.delete(name))
  underWay.set(name, read)
  return read
}

/** Reads all nodes that ever registered, from events since the first block. Throws what the RPC throws: some do not search so many. */
export async function registeredNodes(
  { publicClient }: ChainReader,
  registry: Address,
): Promise<readonly Address[]> {
  const events = await publicClient.getContractEvents({
    address: registry,
    abi: nodeRegistryAbi,
    eventName: 'Registered',
    fromBlock: 0n,
    strict: true,
  })
  return [...new Set(events.map(({ args }) => Address.parse(args.operator)))]
}

// The result is returned as a contract's code, of which chains take 24 KiB. Each node takes 160 bytes of it.
const readAtOnce = 100
const requestsAtOnce = 8

/** Returns the given nodes that are active now. Reads many with few requests. Throws what the RPC throws. */
export async function activeNodes(
  { publicClient }: ChainReader,
  registry: Address,
  nodes: readonly Address[],
): Promise<ReadonlySet<Address>> {
  const groups: (readonly Address[])[] = []
  for (let at = 0; at < nodes.length; at += readAtOnce)
    groups.push(nodes.slice(at, at + readAtOnce))
  const read = async (group: readonly Address[]) => {
    const active = await publicClient.multicall({
      // Not every chain has the multicall contract, so its code is sent with the call.
      deployless: true,
      batchSize: 0,
      allowFailure: false,
      contracts: group.map(
        (node) =>
          ({
            ...{ address: registry, abi: nodeRegistryAbi },
            ...{ functionName: 'isActive', args: [node] },
          }) as const,
      ),
    })
    return group.filter((_, at) => active[at] === true)
  }
  const found = new Set<Address>()
  for (let at = 0; at < groups.length; at += requestsAtOnce) {
    const some = await Promise.all(groups.slice(at, at + requestsAtOnce).map(read))
    for (const node of some.flat()) found.add(node)
  }
  return found
}
