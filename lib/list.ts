/*
 * Problem: neither the client nor the ICL may choose which nodes answer a prompt, and anyone who has the terms must be able to check the
 * choice.
 *
 * Idea: each stored key has one ordered list of nodes. The transaction that stores the key commits to the job's terms, which name a pool
 * that was published before. The hash of that transaction's block gives the seed. The list is a weighted draw from the pool with this seed.
 * Seats are filled in the order of the list.
 *
 * Invariants:
 * - The list is a function of the chain, the pool and the terms. It depends on no signature: Ed25519 signatures are not unique, so a signer
 *   could try many.
 * - Busy nodes are on the list like all others. A node is passed over by name and reason, and the order stays.
 * - Another list costs another stored key.
 *
 * Failure cases: the producer of the block can choose among the hashes that it can make. An RPC server can lie about the block's hash to a
 * client that asks no other server. A client can wait until the nodes that it does not want are busy.
 */

import { encodeAbiParameters } from 'viem'
import type { Address, Hash32 } from './codecs.ts'
import { keccak256Hex } from './digest.ts'
import { type Drawable, drawable, drawFrom } from './draw.ts'
import { askOf, type PoolNode } from './pool-line.ts'
import { takesOf, unmetNeeds } from './prompt-needs.ts'
import type { Terms } from './schemas/terms.ts'

const parameters = [
  { type: 'string' },
  { type: 'uint256' },
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'bytes32' },
  { type: 'bytes32' },
] as const

/** What a list is drawn from besides the pool: a stored prompt key. */
export type ListSource = {
  readonly chainId: number
  /** PromptKeyStore. */
  readonly store: Address
  readonly client: Address
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly termsHash: Hash32
  /** The hash of the block with the KeyStored event. */
  readonly blockHash: Hash32
}

/** The seed of a key's list: keccak256(abi.encode("svc-list-v2", chainId, store, client, high, low, terms, blockHash)). */
export const listSeedOf = (key: ListSource): Hash32 =>
  keccak256Hex(
    encodeAbiParameters(parameters, [
      'svc-list-v2',
      BigInt(key.chainId),
      key.store,
      key.client,
      key.kpHighHandle,
      key.kpLowHandle,
      key.termsHash,
      key.blockHash,
    ]),
  )

/** Returns the nodes of a pool that can serve the terms, without the client itself. */
export const candidatesOf = (
  pool: readonly PoolNode[],
  terms: Pick<Terms, 'model_id' | 'min_tier' | 'comparator' | 'needs' | 'offer'>,
  client: Address | undefined,
): readonly PoolNode[] =>
  pool.filter(
    (node) =>
      node.address !== client &&
      node.models.includes(terms.model_id) &&
      unmetNeeds(takesOf(node.takes, terms.model_id), terms.needs).length === 0 &&
      node.comparators.includes(terms.comparator) &&
      node.tiers.some((tier) => tier >= terms.min_tier) &&
      takesOffer(node, terms),
  )

/** True when a node asks no more than the terms offer. It takes any offer for a model, or a delivery, without a price. */
function takesOffer(
  { asks, delivery = 0n }: PoolNode,
  { model_id, offer }: Pick<Terms, 'model_id' | 'offer'>,
): boolean {
  if (!offer) return true
  const { input, output } = askOf(asks, model_id) ?? { input: 0n, output: 0n }
  return input <= offer.input && output <= offer.output && delivery <= offer.delivery
}

// Pools are never changed, and many lists are drawn from each.
const prepared = new WeakMap<readonly PoolNode[], Map<string, Drawable>>()
const mostDemands = 16

function drawableOf(pool: readonly PoolNode[], terms: Terms): Drawable {
  const { model_id, min_tier, comparator, needs, offer } = terms
  const demands = prepared.get(pool) ?? new Map<string, Drawable>()
  prepared.set(pool, demands)
  const demand = JSON.stringify([model_id, min_tier, comparator, needs, offer], (_, part) =>
    typeof part === 'bigint' ? `${part}` : part,
  )
  const known = demands.get(demand)
  if (known) return known
  const made = drawable(candidatesOf(pool, terms, undefined))
  if (demands.size >= mostDemands) demands.clear()
  demands.set(demand, made)
  return made
}

/** Draws the list of a stored key from the pool that its terms name. The pool must not change afterwards. */
export const drawList = (
  key: ListSource,
  terms: Terms,
  pool: readonly PoolNode[],
): readonly Address[] =>
  drawFrom(listSeedOf(key), drawableOf(pool, terms), terms.list_length, key.client)

/** A node that was passed over, by its position on the list. */
type Passed = { readonly position: number; readonly reason: string }

/** Returns the positions that are seated first: the earliest that were not passed over. If they are too few, busy ones too, which are waited for. */
export function firstPositions(
  listLength: number,
  passed: readonly Passed[],
  quorum: number,
): readonly number[] {
  const reasons = new Map(passed.map(({ position, reason }) => [position, reason]))
  const positions = Array.from({ length: listLength }, (_, position) => position)
  const free = positions.filter((position) => !reasons.has(position))
  const busy = positions.filter((position) => reasons.get(position) === 'busy')
  return [...free.slice(0, quorum), ...busy.slice(0, Math.max(0, quorum - free.length))].toSorted(
    (a, b) => a - b,
  )
}

/** Returns positions as a bit mask, as PromptKeyStore takes them. */
export const maskOf = (positions: readonly number[]): number =>
  positions.reduce((mask, position) => mask | (1 << position), 0)
