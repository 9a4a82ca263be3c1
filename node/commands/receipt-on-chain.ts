import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import { isUnreachable } from '../../lib/chain/chain-error.ts'
import { type ChainReader, createChainReader } from '../../lib/chain/clients.ts'
import { listOf } from '../../lib/chain/key-lists.ts'
import { reading } from '../../lib/chain/reading.ts'
import { storedKeyAt } from '../../lib/chain/stored-key-at.ts'
import type { Address } from '../../lib/codecs.ts'
import { drawList } from '../../lib/list.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import { receiptHash } from '../../lib/receipt.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { termsHash } from '../../lib/terms.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import type { CommandContext } from './context.ts'
import type { Given } from './options.ts'
import { networkOf, rpcName, withTimeout } from './reach.ts'

/** Returns the contracts to compare a receipt with: the given ones, else those of the receipt's ICL. Throws SvcErrors. */
export async function contractsFor(
  receipt: Receipt,
  given: Pick<Given<'receipt'>, 'resultRegistry' | 'promptKeyStore'>,
  context: CommandContext,
): Promise<{ readonly resultRegistry: Address; readonly promptKeyStore: Address }> {
  const { resultRegistry, promptKeyStore } = given
  if (resultRegistry && promptKeyStore) return { resultRegistry, promptKeyStore }
  const { chain_id: chainId, contracts } = await networkOf(receipt.icl_origin, context)
  if (chainId !== receipt.chain_id) {
    throw differs(`its ICL works on chain ${chainId}, the receipt is of another`, shownAnother)
  }
  return {
    resultRegistry: resultRegistry ?? contracts.result_registry,
    promptKeyStore: promptKeyStore ?? contracts.prompt_key_store,
  }
}

/** Reads from the receipt's chain. Throws an SvcError when the RPC is for another one. */
const fromChain = <T>(
  { chain_id: chainId }: Receipt,
  rpcUrl: string,
  context: CommandContext,
  read: (reader: ChainReader, signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withTimeout(context, rpcName(rpcUrl), async (signal) => {
    await checkEndpoint({ rpcUrl, chainId }, signal).catch(askAnother)
    return await read(createChainReader({ rpcUrl, chainId }), signal)
  })

/** Makes the error of an RPC for another chain say nothing of the receipt. */
function askAnother(error: unknown): never {
  if (!(error instanceof SvcError) || error.retryable) throw error
  const hint = "Give --rpc an RPC of the receipt's chain."
  throw new SvcError(error.code, error.message, { hint, retryable: true })
}

/** Names the flag of a contract that answers as another one, or not at all. */
const checkFlag =
  (flag: string) =>
  (error: unknown): never => {
    const isOfCall = error instanceof SvcError && /^chain-(reverted|unavailable)$/.test(error.code)
    if (!isOfCall || isUnreachable(error)) throw error
    throw new SvcError(error.code, error.message, { hint: `Check ${flag}.`, retryable: true })
  }

/** The first fact that does not hold, in words. */
const firstWrong = (facts: readonly (readonly [holds: boolean, otherwise: string])[]) =>
  facts.find(([holds]) => !holds)?.[1]

/** Checks that the chain holds this receipt, and says where. Throws SvcError `receipt-differs` or `not-committed`, and chain errors. */
export async function compareWithChain(
  receipt: Receipt,
  place: { readonly rpcUrl: string; readonly resultRegistry: Address },
  context: CommandContext,
): Promise<string> {
  const { resultRegistry: address } = place
  const held = await fromChain(receipt, place.rpcUrl, context, ({ publicClient }, signal) => {
    const call = { address, abi: resultRegistryAbi, functionName: 'resultOf' } as const
    const read = publicClient.readContract({ ...call, args: [receipt.jobId] })
    return reading('reading ResultRegistry', read, signal)
  }).catch(checkFlag('--result-registry'))
  if (BigInt(held) === 0n) throw notCommitted(address)
  if (held !== (await receiptHash(receipt))) {
    throw differs('the chain holds another receipt hash for this job', shownAnother)
  }
  return `ResultRegistry ${address} holds its hash`
}

/** Checks that PromptKeyStore binds the receipt's key to its block, terms, job and list. Throws SvcError `receipt-differs`. */
export async function compareListWithChain(
  receipt: Receipt,
  place: { readonly rpcUrl: string; readonly promptKeyStore: Address },
  context: CommandContext,
): Promise<string> {
  const { promptKeyStore } = place
  const { client, list, kpHighHandle, kpLowHandle, jobId } = receipt
  const { block, members, activator, until } = list
  const { stored, commitment } = await fromChain(
    receipt,
    place.rpcUrl,
    context,
    async (reader, signal) => {
      const handles = [kpHighHandle, kpLowHandle] as const
      const read = storedKeyAt(reader, promptKeyStore, client, handles, block.number)
      return {
        stored: await reading(`reading block ${block.number}`, read, signal),
        ...(await listOf(reader, promptKeyStore, ...handles, signal)),
      }
    },
  ).catch(checkFlag('--prompt-key-store'))
  const committed = listCommitment({ jobId, activator, until, list: members })
  const hash = await termsHash(list.terms)
  const wrong = firstWrong([
    [stored !== undefined, `block ${block.number} of the chain stored no such key of ${client}`],
    [stored?.block.hash === block.hash, `block ${block.number} of the chain has another hash`],
    [stored?.termsHash === hash, 'the key was stored under other terms'],
    [commitment !== undefined, 'the client has committed to no list'],
    [commitment === committed, 'the client has committed to another list, job, activator or end'],
  ])
  if (wrong) throw differs(wrong, chosenNodes)
  return `PromptKeyStore ${promptKeyStore} bound its key to this list of ${members.length} nodes, and its terms stand in block ${block.number}`
}

/** Draws the list again from its pool. Throws SvcError `receipt-differs`, `pool-snapshot-invalid` or `blob-unavailable`. */
export async function drawAgain(
  receipt: Receipt,
  place: { readonly gateway: string; readonly promptKeyStore: Address },
  context: CommandContext,
): Promise<string> {
  const { list, client, kpHighHandle, kpLowHandle } = receipt
  const { terms } = list
  const { clock, fetch } = context
  const blobs = createGatewayBlobs({ gateways: [place.gateway], clock, fetch, rounds: 2 })
  const { nodes } = await withTimeout(context, `the gateway ${place.gateway}`, (signal) =>
    readPool(terms.pool_cid, (cid) => blobs.download(cid, signal)),
  )
  const drawn = drawList(
    {
      chainId: receipt.chain_id,
      store: place.promptKeyStore,
      ...{ client, kpHighHandle, kpLowHandle },
      termsHash: await termsHash(terms),
      blockHash: list.block.hash,
    },
    terms,
    nodes,
  )
  if (drawn.join() !== list.members.join()) {
    throw differs('its pool and block give another list', chosenNodes)
  }
  return `the pool ${terms.pool_cid} of ${nodes.length} nodes gives this very list`
}

const shownAnother = 'the ICL committed to one receipt and showed another'
const chosenNodes = 'its nodes may have been chosen by whom they serve'

const differs = (why: string, suspicion: string): SvcError =>
  new SvcError('receipt-differs', `The receipt does not fit the chain: ${why}`, {
    hint: `Do not rely on this answer: ${suspicion}.`,
  })

const notCommitted = (registry: Address): SvcError =>
  new SvcError('not-committed', `ResultRegistry ${registry} holds no result of this job`, {
    hint: "It is committed soon after the job was accepted. If it does not appear, check --result-registry and ask the ICL's operator.",
    retryable: true,
  })
