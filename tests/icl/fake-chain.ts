import type { Chain, ChainResult, SlashProposal, StoredKey } from '../../icl/chain/chain.ts'
import type { ChainNode } from '../../icl/rules/eligibility.ts'
import type { ChainSlash } from '../../icl/rules/fault.ts'
import type { KeyList } from '../../lib/chain/key-lists.ts'
import type { OutputKey as StoredOutputKey } from '../../lib/chain/output-key-of.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { OutputKey } from '../../node/chain/chain.ts'
import { aHash, anAddress } from '../branded.ts'

export const coordinator: Address = anAddress(`0x${'0c'.repeat(20)}`)

/** An output key without its halves. */
type ListedOutputKey = Omit<OutputKey, 'high' | 'low'>

/** A chain in memory, which a test fills by hand and can take away. */
export type FakeChain = Chain & {
  readonly nodes: Map<Address, ChainNode>
  /** Who owns each key, by `HIGH:LOW`. */
  readonly owners: Map<string, Address>
  /** Prompt keys that were stored under terms, and their lists, by `HIGH:LOW`. */
  readonly keys: Map<string, StoredKey>
  readonly lists: Map<string, KeyList>
  readonly readers: Set<string>
  readonly committed: ChainResult[]
  /** Accusations by fault, as they stand; `executableAt` is when a test says so. */
  readonly slashes: Map<Hash32, ChainSlash>
  /** Every accusation that was sent. */
  readonly proposals: SlashProposal[]
  /** Unix seconds from which a proposed slash can be executed. */
  slashExecutableAt: number
  /** What slashing throws while it is set. */
  refusesSlashes: Error | undefined
  /** An error that every call throws while it is set. */
  down: Error | undefined
  /** No call is answered while it is set. */
  hangs: boolean
  /** The latest block; it rests unless a test moves it. */
  block: { number: bigint; timestamp: number }
  /** What is committed is not deep enough yet. */
  shallow: boolean
  /** Activations revert, as for a node that is not active. */
  refusesGrants: boolean
  /** Stores a prompt key under terms, as its owner would, at a time in Unix seconds; gives the number of its block. */
  storeKey(high: bigint, low: bigint, owner: Address, terms: Hash32, at: number): bigint
  /** Output keys that were stored as PromptKeyStore does it, by `HIGH:LOW`. */
  readonly outputs: Map<string, StoredOutputKey>
  /** Commits to a list, as the key's owner would, and lets members read, which are at the positions `used`. */
  commitList(
    high: bigint,
    low: bigint,
    commitment: Hash32,
    readers: readonly Address[],
    used?: number,
  ): void
  /** The hash of every block; another one is another list for each key stored from then on. */
  blockHash: Hash32
  /** Stores a key as its owner would; an output key has readers. */
  store(high: bigint, low: bigint, owner: Address, readers: readonly Address[]): void
  /** Stores an output key without looking whether PromptKeyStore would. */
  storeOutput(high: bigint, low: bigint, node: Address, key: StoredOutputKey): void
  /** Stores an output key as PromptKeyStore does; throws the name of its error. */
  storeOutputKey(high: bigint, low: bigint, node: Address, key: ListedOutputKey): void
}

export const activeNode: ChainNode = {
  registered: true,
  active: true,
  unbonding: false,
  modelTiers: [0],
}

export function createFakeChain(): FakeChain {
  const up = async () => {
    if (chain.hangs) await new Promise(() => {})
    if (chain.down) throw chain.down
  }
  const chain: FakeChain = {
    coordinator,
    nodes: new Map(),
    owners: new Map(),
    keys: new Map(),
    lists: new Map(),
    outputs: new Map(),
    blockHash: aHash(`0x${'b'.repeat(64)}`),
    readers: new Set(),
    committed: [],
    slashes: new Map(),
    proposals: [],
    slashExecutableAt: 0,
    refusesSlashes: undefined,
    down: undefined,
    hangs: false,
    block: { number: 7n, timestamp: 0 },
    shallow: false,
    refusesGrants: false,
    store: (high, low, owner, readers) => {
      chain.owners.set(`${high}:${low}`, owner)
      for (const reader of [owner, ...readers]) {
        chain.readers.add(`${high}:${reader}`).add(`${low}:${reader}`)
      }
    },
    storeOutputKey: (high, low, node, { promptHigh, list, self, checkers, ...terms }) => {
      const [, prompt] = [...chain.lists].find(([key]) => key.startsWith(`${promptHigh}:`)) ?? []
      const [, client] = [...chain.owners].find(([key]) => key.startsWith(`${promptHigh}:`)) ?? []
      const isCommitted = prompt?.commitment === listCommitment({ ...terms, list })
      if (client === undefined || !isCommitted) throw new Error('WrongList')
      if (list[self] !== node) throw new Error('NotOnList')
      const members = [self, ...checkers].map((position) => list[position])
      if (members.some((member) => !chain.readers.has(`${promptHigh}:${member}`))) {
        throw new Error('NotActivated')
      }
      const readers = [client, ...checkers.flatMap((at) => list[at] ?? [])]
      chain.storeOutput(high, low, node, { promptHighHandle: promptHigh, self, readers })
    },
    storeOutput: (high, low, node, key) => {
      chain.store(high, low, node, key.readers)
      chain.outputs.set(`${high}:${low}`, key)
    },
    storeKey: (high, low, owner, termsHash, storedAt) => {
      chain.store(high, low, owner, [])
      const block = { number: chain.block.number, hash: chain.blockHash }
      chain.keys.set(`${high}:${low}`, { termsHash, block, storedAt })
      chain.lists.set(`${high}:${low}`, { commitment: undefined, used: 0, ended: false })
      return block.number
    },
    commitList: (high, low, commitment, readers, used = 0) => {
      const list = chain.lists.get(`${high}:${low}`)
      if (!list) throw new TypeError('there is no such key')
      chain.lists.set(`${high}:${low}`, { ...list, commitment, used })
      for (const reader of readers) chain.readers.add(`${high}:${reader}`).add(`${low}:${reader}`)
    },
    storedKeyAt: async (owner, high, low, blockNumber) => {
      await up()
      const key = chain.keys.get(`${high}:${low}`)
      const isTheirs = chain.owners.get(`${high}:${low}`) === owner
      return isTheirs && key?.block.number === blockNumber ? key : undefined
    },
    listOf: async (high, low) => {
      await up()
      return chain.lists.get(`${high}:${low}`) ?? { commitment: undefined, used: 0, ended: false }
    },
    activate: async ({ high, low, jobId, members, until, position }) => {
      await up()
      const list = chain.lists.get(`${high}:${low}`)
      const commitment = listCommitment({ jobId, activator: coordinator, until, list: members })
      const reader = members[position]
      if (list?.commitment !== commitment || list.ended || reader === undefined) return 'ended'
      if (chain.refusesGrants) return 'refused'
      chain.readers.add(`${high}:${reader}`).add(`${low}:${reader}`)
      chain.lists.set(`${high}:${low}`, { ...list, used: list.used | (1 << position) })
      return 'granted'
    },
    ping: async () => {
      await up()
      return chain.block.number
    },
    latestBlock: async () => {
      await up()
      return { ...chain.block, hash: chain.blockHash }
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
    nodesOf: async (addresses) =>
      new Map(
        await Promise.all(
          addresses.map(async (address) => [address, await chain.nodeOf(address)] as const),
        ),
      ),
    findFaults: async () => {
      await up()
      return []
    },
    outputKeyOf: async (high, low) => {
      await up()
      return chain.outputs.get(`${high}:${low}`)
    },
    isAllowed: async (handle, account) => {
      await up()
      return chain.readers.has(`${handle}:${account}`)
    },
    findCommitment: async (result) => {
      await up()
      const index = chain.committed.findIndex(({ jobId }) => jobId === result.jobId)
      if (index < 0) return { state: 'absent' }
      if (chain.shallow) return { state: 'shallow' }
      return { state: 'deep', tx: aHash(`0x${String(index + 1).padStart(64, '0')}`) }
    },
    commitResults: async (results) => {
      await up()
      chain.committed.push(...results)
      return aHash(`0x${'f'.repeat(64)}`)
    },
    slashOf: async (faultId) => {
      await up()
      return chain.slashes.get(faultId) ?? { state: 'absent' }
    },
    proposeSlash: async (slash) => {
      await up()
      if (chain.refusesSlashes) throw chain.refusesSlashes
      if (chain.slashes.has(slash.faultId)) return undefined
      chain.proposals.push(slash)
      const { faultId, amountWei, evidenceHash } = slash
      const executableAt = chain.slashExecutableAt
      chain.slashes.set(faultId, { state: 'proposed', amountWei, evidenceHash, executableAt })
      return aHash(`0x${'a'.repeat(64)}`)
    },
    executeSlash: async (faultId) => {
      await up()
      const slash = chain.slashes.get(faultId)
      if (slash?.state !== 'proposed') return undefined
      const tx: Hash32 = aHash(`0x${'e'.repeat(64)}`)
      chain.slashes.set(faultId, { state: 'executed', tx, takenWei: slash.amountWei })
      return tx
    },
  }
  return chain
}
