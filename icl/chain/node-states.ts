import type { Hex } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { toChainError } from '../../lib/chain/chain-error.ts'
import type { ReadClient } from '../../lib/chain/clients.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import type { ChainNode } from '../rules/eligibility.ts'
import type { Chain } from './chain.ts'

const cachedMs = 15_000
const forgottenMs = 600_000
const abi = nodeRegistryAbi
// An answer comes as the code of a contract, which chains limit to 24 KiB: the largest answers of 25 nodes still fit.
const readAtOnce = 25

type Known = { readonly at: MonotonicMs; readonly node: Promise<ChainNode> }

/** Reads the states of nodes from NodeRegistry, many with one request. Caches them for 15 s, except with `now`. */
export function createNodeStates(
  publicClient: ReadClient,
  registry: Address,
  clock: Clock,
): Chain['nodesOf'] {
  const known = new Map<Address, Known>()

  const remember = (address: Address, entry: Known) => {
    if (elapsedSince(clock, known.get(address)?.at) < elapsedSince(clock, entry.at)) return
    known.set(address, entry)
    entry.node.catch(() => {
      if (known.get(address) === entry) known.delete(address)
    })
  }
  const forgetOld = () => {
    for (const [address, { at }] of known) {
      if (elapsedSince(clock, at) > forgottenMs) known.delete(address)
    }
  }
  const read = (addresses: readonly Address[]): ReadonlyMap<Address, Known> => {
    const at = clock.monotonic()
    const entries = new Map<Address, Known>()
    for (let first = 0; first < addresses.length; first += readAtOnce) {
      const some = addresses.slice(first, first + readAtOnce)
      const states = readNodes(publicClient, registry, some)
      for (const [index, address] of some.entries()) {
        const node = states.then((all) => {
          const state = all[index]
          if (state) return state
          throw new TypeError('the chain answered for fewer nodes than it was asked for')
        })
        entries.set(address, { at, node })
      }
    }
    return entries
  }

  return async (addresses, when) => {
    const isOld = (address: Address) => elapsedSince(clock, known.get(address)?.at) >= cachedMs
    const fresh = read(when === 'now' ? addresses : addresses.filter(isOld))
    if (fresh.size > 0) forgetOld()
    for (const [address, entry] of fresh) {
      // During the read, and if it fails, the cached state is still good.
      if (when === 'now') entry.node.then(() => remember(address, entry)).catch(() => {})
      else remember(address, entry)
    }
    const states = await Promise.all(
      addresses.map(async (address) => {
        const state = await (fresh.get(address) ?? known.get(address))?.node
        return state ? ([[address, state]] as const) : []
      }),
    )
    return new Map(states.flat())
  }
}

async function readNodes(
  publicClient: ReadClient,
  address: Hex,
  nodes: readonly Hex[],
): Promise<readonly ChainNode[]> {
  try {
    const states = await publicClient.multicall({
      // Not every chain has the multicall contract. Its code can be sent with the call.
      deployless: true,
      batchSize: 0,
      allowFailure: false,
      contracts: nodes.map(
        (node) => ({ address, abi, functionName: 'nodeOf', args: [node] }) as const,
      ),
    })
    return states.map((state) => ({
      registered: state.registeredAt !== 0n,
      active: state.active,
      unbonding: state.unbondingAt !== 0n,
      modelTiers: [...state.modelTiers],
    }))
  } catch (error) {
    throw toChainError(error, `reading NodeRegistry at ${address}`)
  }
}
