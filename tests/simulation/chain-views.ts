import type { ClientChain } from '../../lib/client/client-chain.ts'
import type { Clock } from '../../lib/clock.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import type { EncryptedInput } from '../../lib/coprocessor/coprocessor.ts'
import type { NodeChain } from '../../node/chain/chain.ts'
import { chainId } from '../icl/test-icl.ts'
import type { SimulatedChain } from './chain.ts'
import type { SimulatedCoprocessor } from './coprocessor.ts'

/** The chain, its time, and the coprocessor that its contracts deal with. */
type Ground = {
  readonly chain: SimulatedChain
  readonly coprocessor: SimulatedCoprocessor
  readonly clock: Clock
}

type Key = {
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly readers: readonly Address[]
  readonly delegate?: Address | undefined
  readonly grants: number
}

async function storeKey(
  { chain, coprocessor }: Ground,
  owner: Address,
  key: Key,
  signal?: AbortSignal,
) {
  let handles = { highHandle: 0n, lowHandle: 0n }
  await chain.mined(signal, () => {
    const [high, low] = [coprocessor.keep(key.high), coprocessor.keep(key.low)]
    chain.store(high, low, owner, [...key.readers], key.delegate)
    const record = chain.records.get(`${high}:${low}`)
    if (record) chain.records.set(`${high}:${low}`, { ...record, grantsLeft: key.grants })
    handles = { highHandle: high, lowHandle: low }
  })
  return handles
}

/** The contracts as a node with this wallet sees them. */
export const nodeChainOf = (ground: Ground, address: Address): NodeChain => ({
  registration: async () => {
    const { registered, modelTiers } = await ground.chain.nodeOf(address)
    return registered ? { lastHeartbeat: unixSeconds(ground.clock), modelTiers } : undefined
  },
  isActive: async (node) => (await ground.chain.nodeOf(node)).active,
  sendHeartbeat: async () => `0x${'99'.repeat(32)}`,
  // Whoever stores an output key lets in as many nodes as may join later.
  storeOutputKey: async (key, signal) => ({
    ...(await storeKey(ground, address, { ...key, grants: 16 }, signal)),
    txHash: `0x${'88'.repeat(32)}`,
    gasUsed: 250_000n,
  }),
})

/** The contracts as a client with this wallet sees them. */
export const clientChainOf = (ground: Ground, address: Address): ClientChain => ({
  chainId: async () => chainId,
  storeKey: async ({ delegation, ...key }, signal) => ({
    ...(await storeKey(
      ground,
      address,
      { ...key, delegate: delegation?.delegate, grants: delegation?.maxGrants ?? 0 },
      signal,
    )),
    txHash: `0x${'77'.repeat(32)}`,
  }),
  receiptHashIn: async (tx, jobId) => ground.chain.receiptHashIn(tx, jobId),
  nodeOf: async (node) => {
    const { registered, active, modelTiers } = await ground.chain.nodeOf(node)
    return { staked: registered, active, modelTiers }
  },
  time: async () => {
    await ground.chain.ping()
    return unixSeconds(ground.clock)
  },
})
