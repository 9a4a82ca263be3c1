import type { ClientChain } from '../../lib/client/client-chain.ts'
import type { Clock } from '../../lib/clock.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { BlockId } from '../../lib/schemas/list.ts'
import type { NodeChain } from '../../node/chain/chain.ts'
import { aHash } from '../branded.ts'
import { chainId } from '../icl/test-icl.ts'
import type { SimulatedChain } from './chain.ts'
import type { SimulatedCoprocessor } from './coprocessor.ts'

/** The chain, its time, and the coprocessor that its contracts deal with. */
type Ground = {
  readonly chain: SimulatedChain
  readonly coprocessor: SimulatedCoprocessor
  readonly clock: Clock
}

/** The contracts as a node with this wallet sees them. */
export const nodeChainOf = (ground: Ground, address: Address): NodeChain => ({
  registration: async () => {
    const { registered, modelTiers } = await ground.chain.nodeOf(address)
    return registered ? { lastHeartbeat: unixSeconds(ground.clock), modelTiers } : undefined
  },
  answersPaidFor: async () => 100,
  newestBlock: async () => ({ number: 1_000_000n, timestamp: 0, host: 'rpc.example' }),
  leaveRpc: () => {},
  listCommitmentOf: async (high, low) => (await ground.chain.listOf(high, low))?.commitment,
  sendHeartbeat: async () => `0x${'99'.repeat(32)}`,
  storeOutputKey: async ({ high, low, ...key }, signal) => {
    const { chain, coprocessor } = ground
    let handles = { highHandle: 0n, lowHandle: 0n }
    await chain.mined(signal, () => {
      handles = { highHandle: coprocessor.keep(high), lowHandle: coprocessor.keep(low) }
      chain.storeOutputKey(handles.highHandle, handles.lowHandle, address, key)
    })
    return { ...handles, txHash: `0x${'88'.repeat(32)}`, gasUsed: 420_000n }
  },
})

/** The contracts as a client with this wallet sees them. */
export const clientChainOf = (ground: Ground, address: Address): ClientChain => {
  const { chain, coprocessor, clock } = ground
  const blocks = new Map<string, BlockId>()
  return {
    chainId: async () => chainId,
    storeKey: async ({ high, low, termsHash }, signal) => {
      const [highHandle, lowHandle] = [coprocessor.keep(high), coprocessor.keep(low)]
      const txHash = aHash(`0x${highHandle.toString(16).padStart(64, '0')}`)
      let block: BlockId = { number: 0n, hash: chain.blockHash }
      await chain.mined(signal, () => {
        const at = unixSeconds(clock)
        const number = chain.storeKey(highHandle, lowHandle, address, termsHash, at)
        block = { number, hash: chain.blockHash }
        blocks.set(txHash, block)
      })
      return { highHandle, lowHandle, txHash, block }
    },
    blockOf: async (tx) => {
      await chain.ping()
      return blocks.get(tx)
    },
    commitList: async ({ highHandle, lowHandle, terms, mask }, signal) => {
      const readers = terms.list.filter((_, position) => (mask >> position) & 1)
      await chain.mined(signal, () =>
        chain.commitList(highHandle, lowHandle, listCommitment(terms), readers, mask),
      )
    },
    endList: async (high, low, signal) => {
      await chain.mined(signal, () => {
        const list = chain.lists.get(`${high}:${low}`)
        if (list) chain.lists.set(`${high}:${low}`, { ...list, ended: true })
      })
    },
    listOf: async (high, low) => {
      const { commitment, used } = await chain.listOf(high, low)
      return commitment && { commitment, used }
    },
    // No client here opens a job of an earlier process.
    firstReaders: async () => undefined,
    storedKeyAt: (high, low, block) => chain.storedKeyAt(address, high, low, block),
    outputKeyOf: (high, low, from) => chain.outputKeyOf(high, low, from),
    receiptHashIn: async (tx, jobId) => chain.receiptHashIn(tx, jobId),
    nodeOf: async (node) => {
      const { registered, active, modelTiers } = await chain.nodeOf(node)
      return { staked: registered, active, modelTiers }
    },
    registeredNodes: async () => [...chain.nodes.keys()],
    activeNodes: async (nodes) => {
      const states = await chain.nodesOf(nodes)
      return new Set(nodes.filter((node) => states.get(node)?.active === true))
    },
    time: async () => {
      await chain.ping()
      return unixSeconds(clock)
    },
  }
}
