import type { Chain } from '../../icl/chain/chain.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { aHash, anAddress } from '../branded.ts'
import { activeNode, createFakeChain } from '../icl/fake-chain.ts'

const addressBits = 64n

/** The handles of a key that an account stored, on the chain below. */
export const outputHandlesOf = (owner: Address): readonly [bigint, bigint] => {
  const high = BigInt(owner) << addressBits
  return [high, high + 1n]
}

/** The handles of a client's prompt key on the chain below, which reads owner and terms in them. */
export const handlesOf = (client: Address, terms: Hash32) => ({
  highHandle: BigInt(client) << addressBits,
  lowHandle: BigInt(terms),
  blockNumber: 7n,
})

const ownerOf = (high: bigint): Address =>
  anAddress(`0x${(high >> addressBits).toString(16).padStart(40, '0')}`)

/** A chain that every process can have for itself, because it remembers nothing: all nodes are active and may read all keys. */
export function createOpenChain(): Chain {
  const chain = createFakeChain()
  return {
    ...chain,
    nodeOf: async () => activeNode,
    nodesOf: async (addresses) => new Map(addresses.map((address) => [address, activeNode])),
    isAllowed: async () => true,
    keyRecordOf: async (high) => ({
      owner: ownerOf(high),
      delegate: chain.coordinator,
      grantsLeft: 0,
      until: 0,
    }),
    storedKeyAt: async (high, low, number) => ({
      owner: ownerOf(high),
      termsHash: aHash(`0x${low.toString(16).padStart(64, '0')}`),
      block: { number, hash: chain.blockHash },
      storedAt: Math.floor(Date.now() / 1000),
    }),
  }
}
