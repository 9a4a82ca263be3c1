import { encodeFunctionData, type LocalAccount } from 'viem'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { lacksFunds, toChainError } from '../../lib/chain/chain-error.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { listOf, storeOutputKey } from '../../lib/chain/key-lists.ts'
import { reading } from '../../lib/chain/reading.ts'
import { sendCall } from '../../lib/chain/send.ts'
import type { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { NodeChain } from './chain.ts'
import { createRegistryReader, deliveryGas } from './registry.ts'
import { type SendOptions, sendingWith } from './sending.ts'

/** Makes the node's view of the contracts, with its wallet. */
export function createNodeChain(options: {
  readonly rpcUrl: string
  readonly chainId: number
  readonly account: LocalAccount
  readonly nodeRegistry: Address
  readonly promptKeyStore: Address
  /** Without it, transactions wait as they were signed. */
  readonly sending?: SendOptions
}): NodeChain {
  const { account, nodeRegistry, sending } = options
  const writer = createChainWriter(options)
  const chain = sending ? sendingWith(writer, sending) : writer
  const registry = createRegistryReader(options)
  return {
    registration: (signal) => registry.registrationOf(account.address, signal),

    async answersPaidFor(signal) {
      const { publicClient } = chain
      const found = Promise.all([
        publicClient.getBalance({ address: account.address }),
        publicClient.getGasPrice(),
      ])
      const [balance, gasPrice] = await reading('reading the balance', found, signal)
      return gasPrice === 0n ? Number.POSITIVE_INFINITY : Number(balance / (deliveryGas * gasPrice))
    },

    newestBlock: (signal) => registry.newestBlock(signal),
    leaveRpc: registry.leaveRpc,

    async listCommitmentOf(high, low, signal) {
      const { commitment } = await listOf(chain, options.promptKeyStore, high, low, signal)
      return commitment
    },

    async sendHeartbeat(signal) {
      const functionName = 'heartbeat'
      const data = encodeFunctionData({ abi: nodeRegistryAbi, functionName })
      const call = { to: nodeRegistry, data, abi: nodeRegistryAbi, functionName }
      try {
        const receipt = await sendCall(chain, call, signal)
        return receipt.transactionHash
      } catch (error) {
        signal?.throwIfAborted()
        if (!lacksFunds(error)) throw toChainError(error, 'sending heartbeat')
        throw new SvcError('no-gas', 'the wallet cannot pay for the on-chain heartbeat', {
          hint: `Send gas money to ${account.address.toLowerCase()}.`,
        })
      }
    },

    storeOutputKey: ({ high, low, promptHigh, self, checkers, ...terms }, signal) =>
      storeOutputKey({
        ...chain,
        contract: options.promptKeyStore,
        high,
        low,
        promptHighHandle: promptHigh,
        terms,
        self,
        mask: checkers.reduce((mask, position) => mask | (1 << position), 0),
        ...(signal && { signal }),
      }),
  }
}
