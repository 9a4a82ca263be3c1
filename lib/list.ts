/*
 * Problem: who answers a prompt must be chosen by nobody, neither by its client nor by the ICL, and anyone who has the
 * terms must be able to check the choice.
 *
 * Idea: one ordered list of nodes for each stored key. The client commits to its terms, which name a pool that was
 * published before, in the transaction that stores the key. The hash of that transaction's block makes the seed. The
 * list is a weighted draw from the pool with this seed. Seats are filled in the order of the list.
 *
 * Invariants:
 * - The list is a function of the chain, the pool and the terms. No signature takes part: Ed25519 signatures are not
 *   unique, so a signer could try many.
 * - Busy nodes are on the list like all others. A node is passed over by name and reason, and the order stays.
 * - Another list costs another stored key.
 *
 * Failure cases: the producer of the block can choose among the hashes that it can make; an RPC server can lie about
 * the block's hash to a client that asks no other; who is busy changes, so that a client can wait until those are that it
 * does not want.
 */

import { encodeAbiParameters } from 'viem'
import type { Address, Hash32 } from './codecs.ts'
import { keccak256Hex } from './digest.ts'
import { drawNodes } from './draw.ts'
import type { PoolNode } from './pool-snapshot.ts'
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

/** What a list is drawn from besides the pool: a prompt key as it is stored on chain. */
export type ListSource = {
  readonly chainId: number
  /** PromptKeyStore. */
  readonly store: Address
  readonly client: Address
  readonly kpHighHandle: bigint
  readonly kpLowHandle: bigint
  readonly termsHash: Hash32
  /** Of the block that holds the KeyStored event. */
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

/** The nodes of a pool that can serve the terms; the client itself is none of them. */
export const candidatesOf = (
  pool: readonly PoolNode[],
  terms: Pick<Terms, 'model_id' | 'min_tier' | 'comparator' | 'needs'>,
  client: Address | undefined,
): readonly PoolNode[] =>
  pool.filter(
    ({ address, tiers, models, comparators, takes }) =>
      address !== client &&
      models.includes(terms.model_id) &&
      unmetNeeds(takesOf(takes, terms.model_id), terms.needs).length === 0 &&
      comparators.includes(terms.comparator) &&
      tiers.some((tier) => tier >= terms.min_tier),
  )

/** The list of a stored key, drawn from the pool that its terms name. */
export const drawList = (
  key: ListSource,
  terms: Terms,
  pool: readonly PoolNode[],
): readonly Address[] =>
  drawNodes(listSeedOf(key), candidatesOf(pool, terms, key.client), terms.list_length)

/** A node that was passed over, by its position on the list. */
type Passed = { readonly position: number; readonly reason: string }

/**
 * The positions that are seated first: the earliest that were not passed over. A busy node only stands back for others; when too few
 * are left, the earliest busy ones are seated and waited for.
 */
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

/** Positions as the bits of a number, as PromptKeyStore takes them. */
export const maskOf = (positions: readonly number[]): number =>
  positions.reduce((mask, position) => mask | (1 << position), 0)
