import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import { createChainReader } from '../../lib/chain/clients.ts'
import { listOf } from '../../lib/chain/key-lists.ts'
import { reading } from '../../lib/chain/reading.ts'
import { type StoredKey, storedKeyAt } from '../../lib/chain/stored-key-at.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { drawList } from '../../lib/list.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { termsHash } from '../../lib/terms.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import type { CommandContext } from './context.ts'
import { rpcName, withTimeout } from './reach.ts'

/** Checks that PromptKeyStore binds the receipt's key to its block, terms, job and list. Throws SvcError `receipt-differs`. */
export async function compareListWithChain(
  receipt: Receipt,
  place: { readonly rpcUrl: string; readonly promptKeyStore: Address },
  context: CommandContext,
): Promise<string> {
  const { rpcUrl, promptKeyStore } = place
  const { list, kpHighHandle, kpLowHandle, jobId } = receipt
  const chainId = receipt.chain_id
  const { stored, commitment } = await withTimeout(context, rpcName(rpcUrl), async (signal) => {
    await checkEndpoint({ rpcUrl, chainId }, signal)
    const reader = createChainReader({ rpcUrl, chainId })
    const handles = [kpHighHandle, kpLowHandle] as const
    const { number } = list.block
    const read = storedKeyAt(reader, promptKeyStore, handles, number)
    return {
      stored: await reading(`reading block ${number}`, read, signal),
      ...(await listOf(reader, promptKeyStore, ...handles, signal)),
    }
  })
  const { members, activator, until } = list
  const committed = listCommitment({ jobId, activator, until, list: members })
  const difference = await differenceOf(receipt, stored, { commitment, committed })
  if (difference !== undefined) throw differs(difference)
  return `PromptKeyStore ${promptKeyStore} bound its key to this list of ${members.length} nodes, and its terms stand in block ${list.block.number}`
}

async function differenceOf(
  { client, list }: Receipt,
  stored: StoredKey | undefined,
  { commitment, committed }: { commitment: Hash32 | undefined; committed: Hash32 },
): Promise<string | undefined> {
  const { block, terms } = list
  if (stored === undefined) return `block ${block.number} of the chain stored no such key`
  const same: readonly [boolean, string][] = [
    [stored.owner === client, 'the key has another owner on chain'],
    [stored.block.hash === block.hash, `block ${block.number} of the chain has another hash`],
    [stored.termsHash === (await termsHash(terms)), 'the key was stored under other terms'],
    [commitment !== undefined, 'the client has committed to no list'],
    [commitment === committed, 'the client has committed to another list, job, activator or end'],
  ]
  return same.find(([holds]) => !holds)?.[1]
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
  if (drawn.join() !== list.members.join()) throw differs('its pool and block give another list')
  return `the pool ${terms.pool_cid} of ${nodes.length} nodes gives this very list`
}

const differs = (why: string): SvcError =>
  new SvcError('receipt-differs', `The receipt does not fit the chain: ${why}`, {
    hint: 'Do not rely on this answer: its nodes may have been chosen by whom they serve.',
  })
