import { encodeFunctionData } from 'viem'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { revertNameOf } from '../../lib/chain/chain-error.ts'
import type { ChainReader } from '../../lib/chain/clients.ts'
import { listOf } from '../../lib/chain/key-lists.ts'
import { outputKeyOf } from '../../lib/chain/output-key-of.ts'
import type { Sender } from '../../lib/chain/sender.ts'
import { storedKeyAt } from '../../lib/chain/stored-key-at.ts'
import type { Address } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { Activation, Chain } from './chain.ts'
import { reading, refusalOf } from './reading.ts'

type Lists = Pick<Chain, 'outputKeyOf' | 'storedKeyAt' | 'listOf' | 'activate'>

/** Reads keys, and the lists that their owners committed to, from PromptKeyStore, and activates nodes there. */
export function createKeyLists(
  reader: ChainReader,
  sender: Sender,
  promptKeyStore: Address,
  coordinator: Address,
): Lists {
  return {
    outputKeyOf: (high, low, fromBlock) =>
      reading('reading an output key', () =>
        outputKeyOf(reader, promptKeyStore, [high, low], fromBlock),
      ),
    storedKeyAt: (owner, high, low, blockNumber) =>
      reading(`reading block ${blockNumber}`, () =>
        storedKeyAt(reader, promptKeyStore, owner, [high, low], blockNumber),
      ),
    listOf: (high, low) => listOf(reader, promptKeyStore, high, low),
    activate: async (activation, signal) => {
      try {
        await sender.send(activateCall(promptKeyStore, activation), 'grant', signal)
        return 'granted'
      } catch (error) {
        signal?.throwIfAborted()
        const revert = revertNameOf(error)
        if (revert === 'NodeNotActive') return 'refused'
        if (revert === 'ListHasEnded' || revert === 'ListExpired') return 'ended'
        if (revert === 'WrongList') {
          const { high, low, members: list } = activation
          const { commitment } = await listOf(reader, promptKeyStore, high, low)
          const wanted = listCommitment({ ...activation, activator: coordinator, list })
          // An RPC server may lag behind: without a commitment there nothing has ended.
          if (commitment !== undefined && commitment !== wanted) return 'other'
        }
        throw refusalOf(error, 'activating a node', promptKeyStore)
      }
    },
  }
}

function activateCall(to: Address, activation: Activation) {
  const { high, low, jobId, members, until, position } = activation
  const [abi, functionName] = [promptKeyStoreAbi, 'activate'] as const
  const args = [high, low, jobId, members, BigInt(until), position] as const
  return { to, abi, functionName, data: encodeFunctionData({ abi, functionName, args }) }
}
