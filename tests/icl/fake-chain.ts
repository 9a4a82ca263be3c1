import type { Chain, ChainResult, KeyRecord } from '../../icl/chain/chain.ts'
import type { ChainNode } from '../../icl/rules/eligibility.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'

export const coordinator: Address = `0x${'0c'.repeat(20)}`

/** A chain in memory, which a test fills by hand and can take away. */
export type FakeChain = Chain & {
  readonly nodes: Map<Address, ChainNode>
  readonly records: Map<string, KeyRecord>
  readonly readers: Set<string>
  readonly committed: ChainResult[]
  /** An error that every call throws while it is set. */
  down: Error | undefined
  /** What is committed is not deep enough yet. */
  shallow: boolean
  /** Grants revert, as for a node that is not active. */
  refusesGrants: boolean
  /** Stores a key as its owner would. */
  store(high: bigint, low: bigint, owner: Address, readers: Address[], delegate?: Address): void
}

export const activeNode: ChainNode = {
  registered: true,
  active: true,
  unbonding: false,
  modelTiers: [0],
  slashedGwei: 0,
}

export function createFakeChain(): FakeChain {
  const up = async () => {
    if (chain.down) throw chain.down
  }
  const chain: FakeChain = {
    coordinator,
    nodes: new Map(),
    records: new Map(),
    readers: new Set(),
    committed: [],
    down: undefined,
    shallow: false,
    refusesGrants: false,
    store: (high, low, owner, readers, delegate) => {
      chain.records.set(`${high}:${low}`, {
        owner,
        delegate: delegate ?? `0x${'0'.repeat(40)}`,
        grantsLeft: delegate ? 5 : 0,
        until: Number.MAX_SAFE_INTEGER,
      })
      for (const reader of [owner, ...readers]) {
        chain.readers.add(`${high}:${reader}`).add(`${low}:${reader}`)
      }
    },
    ping: up,
    latestBlock: async () => {
      await up()
      return { number: 7n, hash: `0x${'b'.repeat(64)}` as Hash32 }
    },
    nodeOf: async (address) => {
      await up()
      return (
        chain.nodes.get(address) ?? {
          ...activeNode,
          registered: false,
          active: false,
          modelTiers: [],
        }
      )
    },
    keyRecordOf: async (high, low) => {
      await up()
      return chain.records.get(`${high}:${low}`)
    },
    isAllowed: async (handle, account) => {
      await up()
      return chain.readers.has(`${handle}:${account}`)
    },
    grantAccess: async (high, low, reader) => {
      await up()
      if (chain.refusesGrants) return 'refused'
      chain.readers.add(`${high}:${reader}`).add(`${low}:${reader}`)
      return 'granted'
    },
    findCommitment: async (result) => {
      await up()
      const index = chain.committed.findIndex(({ jobId }) => jobId === result.jobId)
      if (index < 0) return { state: 'absent' }
      if (chain.shallow) return { state: 'shallow' }
      return { state: 'deep', tx: `0x${String(index + 1).padStart(64, '0')}` }
    },
    commitResults: async (results) => {
      await up()
      chain.committed.push(...results)
      return `0x${'f'.repeat(64)}`
    },
  }
  return chain
}
