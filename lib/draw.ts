import { concat, hexToBigInt, keccak256, numberToHex } from 'viem'
import type { Address, Hash32 } from './codecs.ts'

/** A node with its weight in a draw, a positive integer. */
export type Weighted = { readonly address: Address; readonly weight: number }

/** Nodes in the one order in which they are drawn from. */
export function inPoolOrder<T extends Weighted>(pool: readonly T[]): readonly T[] {
  // Stores list nodes by address: mostly there is nothing to sort.
  const isOrdered = pool.every((node, index) => {
    const before = pool[index - 1]
    return before === undefined || before.address <= node.address
  })
  return isOrdered ? pool : pool.toSorted((a, b) => (a.address < b.address ? -1 : 1))
}

/**
 * Draws up to `count` different nodes, each with a chance proportional to its weight. The same seed and pool give the
 * same nodes everywhere: integers only. Throws RangeError for weights that are not positive, or too large to add up.
 */
export function drawNodes(
  seed: Hash32,
  pool: readonly Weighted[],
  count: number,
): readonly Address[] {
  const nodes = inPoolOrder(pool)
  const taken = new Set<number>()
  const chosen: Address[] = []
  let total = totalWeight(nodes)
  while (chosen.length < count && chosen.length < nodes.length) {
    const index = indexAt(nodes, taken, pointOf(seed, chosen.length, total))
    const node = nodes[index]
    if (node === undefined) throw needsPositiveWeights()
    taken.add(index)
    chosen.push(node.address)
    total -= node.weight
  }
  return chosen
}

const needsPositiveWeights = () => new RangeError('A draw needs positive weights')

function totalWeight(nodes: readonly Weighted[]): number {
  let total = 0
  for (const { weight } of nodes) total += weight
  // Below 2^53 the sums of integers are exact, whatever they are added up in.
  if (!Number.isSafeInteger(total)) throw new RangeError('The weights of a draw are too large')
  return total
}

/** 256 bits modulo a total far below 2^256 is uniform for every purpose. */
function pointOf(seed: Hash32, turn: number, total: number): number {
  if (total <= 0) throw needsPositiveWeights()
  const bits = hexToBigInt(keccak256(concat([seed, numberToHex(turn, { size: 4 })])))
  return Number(bits % BigInt(total))
}

/** Where the running sum of the weights of those not taken exceeds the point. */
function indexAt(nodes: readonly Weighted[], taken: ReadonlySet<number>, point: number): number {
  let left = point
  for (const [index, { weight }] of nodes.entries()) {
    if (taken.has(index)) continue
    left -= weight
    if (left < 0) return index
  }
  throw needsPositiveWeights()
}
