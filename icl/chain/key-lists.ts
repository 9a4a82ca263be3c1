import { BlockNotFoundError, encodeFunctionData } from 'viem'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { causesOf, revertNameOf } from '../../lib/chain/chain-error.ts'
import { chainHash } from '../../lib/chain/chain-hash.ts'
import type { ChainReader } from '../../lib/chain/clients.ts'
import { listOf } from '../../lib/chain/key-lists.ts'
import { Address } from '../../lib/codecs.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { Activation, Chain, StoredKey } from './chain.ts'
import { reading } from './reading.ts'
import { refusalOf } from './refusal.ts'
import type { Sender } from './sender.ts'

type Lists = Pick<Chain, 'storedKeyAt' | 'listOf' | 'activate'>

/** What PromptKeyStore knows of prompt keys and of the lists that their owners committed to. */
export function createKeyLists(
  reader: ChainReader,
  sender: Sender,
  promptKeyStore: Address,
  coordinator: Address,
): Lists {
  return {
    storedKeyAt: (high, low, blockNumber) =>
      reading(`reading block ${blockNumber}`, () =>
        storedKeyAt(reader, promptKeyStore, [high, low], blockNumber),
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
          const { high, low } = activation
          const { commitment } = await listOf(reader, promptKeyStore, high, low)
          const wanted = listCommitment({
            ...activation,
            activator: coordinator,
            list: activation.members,
          })
          // One server of the RPC may lag behind another: without a commitment there nothing has ended.
          if (commitment !== undefined && commitment !== wanted) return 'ended'
        }
        throw refusalOf(error, 'activating a node', promptKeyStore)
      }
    },
  }
}

async function storedKeyAt(
  { publicClient }: ChainReader,
  promptKeyStore: Address,
  [high, low]: readonly [bigint, bigint],
  blockNumber: bigint,
): Promise<StoredKey | undefined> {
  const block = await publicClient.getBlock({ blockNumber }).catch((error: unknown) => {
    if (causesOf(error).some((cause) => cause instanceof BlockNotFoundError)) return undefined
    throw error
  })
  if (!block) return undefined
  const logs = await publicClient.getContractEvents({
    address: promptKeyStore,
    abi: promptKeyStoreAbi,
    eventName: 'KeyStored',
    args: { highHandle: high, lowHandle: low },
    fromBlock: blockNumber,
    toBlock: blockNumber,
    strict: true,
  })
  // The two may come from two servers, of which one has seen a reorganisation.
  const log = logs.find(({ blockHash }) => blockHash === block.hash)
  if (!log) return undefined
  const doing = `reading block ${blockNumber}`
  return {
    owner: Address.parse(log.args.owner),
    termsHash: chainHash(log.args.terms, doing),
    block: { number: blockNumber, hash: chainHash(block.hash, doing) },
    storedAt: Number(block.timestamp),
  }
}

function activateCall(
  promptKeyStore: Address,
  { high, low, jobId, members, until, position }: Activation,
) {
  const abi = promptKeyStoreAbi
  const functionName = 'activate'
  const data = encodeFunctionData({
    abi,
    functionName,
    args: [high, low, jobId, members, BigInt(until), position],
  })
  return { to: promptKeyStore, abi, functionName, data }
}
