import type { Chain } from '../../icl/chain/chain.ts'
import type { Address } from '../../lib/codecs.ts'
import { anAddress } from '../branded.ts'
import { activeNode, createFakeChain } from '../icl/fake-chain.ts'

const addressBits = 64n

/** Key handles that belong to a client on the chain below. */
export const handlesOf = (client: Address): readonly [bigint, bigint] => {
  const high = BigInt(client) << addressBits
  return [high, high + 1n]
}

/** A chain that every process can have for itself, because it remembers nothing: all nodes are active and may read all keys. */
export function createOpenChain(): Chain {
  const chain = createFakeChain()
  return {
    ...chain,
    nodeOf: async () => activeNode,
    nodesOf: async (addresses) => new Map(addresses.map((address) => [address, activeNode])),
    isAllowed: async () => true,
    keyRecordOf: async (high) => {
      const owner: Address = anAddress(`0x${(high >> addressBits).toString(16).padStart(40, '0')}`)
      return { owner, delegate: chain.coordinator, grantsLeft: 0, until: 0 }
    },
  }
}
