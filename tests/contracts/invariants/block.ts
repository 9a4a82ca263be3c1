import { type Abi, decodeErrorResult, decodeEventLog, type Hex, type Log, toHex } from 'viem'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { taskManagerAbi } from '../../../lib/abi/task-manager.ts'
import type { RandomCall } from './callers.ts'
import type { FuzzChain } from './fuzz-chain.ts'
import { eventText, noReason, type Outcome } from './outcome.ts'

/** Every item of the ABIs; a revert may come from any of them. */
const allAbis = [
  ...nodeRegistryAbi,
  ...promptKeyStoreAbi,
  ...resultRegistryAbi,
  ...taskManagerAbi,
] as const

const gas = 3_000_000

/** A call and what the chain made of it. */
export type Happened = { readonly call: RandomCall; readonly outcome: Outcome }

type Receipt = {
  readonly transactionHash: Hex
  readonly status: Hex
  readonly logs: readonly Pick<Log<bigint, number, false>, 'address' | 'topics' | 'data'>[]
}

/** Puts calls into blocks of a chain. */
export const createBlocks = async (chain: FuzzChain) => {
  const { rpc, contracts } = chain
  const everyone = [...chain.actors, chain.whale]
  const counts = await rpc(
    everyone.map((actor) => ['eth_getTransactionCount', actor, 'latest'] as const),
  )
  const nonces = new Map(everyone.map((actor, index) => [actor, Number(counts[index])]))
  const abis = new Map<Hex, Abi>([
    [contracts.nodeRegistry, nodeRegistryAbi],
    [contracts.promptKeyStore, promptKeyStoreAbi],
    [contracts.resultRegistry, resultRegistryAbi],
  ])

  const eventsOf = ({ logs }: Receipt): readonly string[] =>
    logs.flatMap(({ address, topics, data }) => {
      const abi = abis.get(address.toLowerCase() as Hex)
      if (abi === undefined) return []
      const event = decodeEventLog({ abi, topics: topics as [Hex, ...Hex[]], data })
      const item = abi.find((entry) => entry.type === 'event' && entry.name === event.eventName)
      const args = (event.args ?? {}) as Readonly<Record<string, unknown>>
      const names = item?.type === 'event' ? item.inputs.map(({ name = '' }) => name) : []
      return [
        eventText(
          event.eventName ?? '',
          names.map((name) => args[name]),
        ),
      ]
    })
  const errorsOf = async (hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, string>> => {
    const tracer = { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } }
    const traces = await rpc(hashes.map((hash) => ['debug_traceTransaction', hash, tracer]))
    return new Map(
      hashes.map((hash, index) => {
        const { output = '0x' } = traces[index] as { readonly output?: Hex }
        if (output === '0x') return [hash, noReason]
        return [hash, decodeErrorResult({ abi: allAbis, data: output }).errorName]
      }),
    )
  }

  /** Mines one block of these calls, dearest first, so in this order; time is in Unix seconds. */
  const mine = async (calls: readonly RandomCall[], time: number): Promise<readonly Happened[]> => {
    const hashes = await rpc(
      calls.map(({ from, to, data, value }, index) => {
        const nonce = nonces.get(from) ?? 0
        nonces.set(from, nonce + 1)
        const price = toHex(calls.length - index)
        const sent = { from, to, data, value: toHex(value), nonce: toHex(nonce) }
        return ['eth_sendTransaction', { ...sent, gas: toHex(gas), gasPrice: price }]
      }),
    )
    await rpc([['evm_setNextBlockTimestamp', time]])
    await rpc([['evm_mine']])
    const [receipts] = (await rpc([['eth_getBlockReceipts', 'latest']])) as [readonly Receipt[]]
    const byHash = new Map(hashes.map((hash, index) => [hash as Hex, calls[index]]))
    const failed = receipts.filter(({ status }) => status !== '0x1')
    const errors = await errorsOf(failed.map(({ transactionHash }) => transactionHash))
    const happened = receipts.map((receipt): Happened => {
      const call = byHash.get(receipt.transactionHash)
      if (call === undefined) throw new Error('a foreign transaction is in the block')
      const error = errors.get(receipt.transactionHash)
      if (error !== undefined) return { call, outcome: { kind: 'reverted', error } }
      return { call, outcome: { kind: 'done', events: eventsOf(receipt) } }
    })
    if (happened.length !== calls.length) {
      throw new Error(`only ${happened.length} of ${calls.length} calls are in the block`)
    }
    return happened
  }
  return { mine }
}
