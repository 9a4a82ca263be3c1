import { concat, hexToBigInt, keccak256, numberToHex } from 'viem'
import type { Address, Hash32 } from './codecs.ts'

/** A node with its weight in a draw, which is a positive integer. */
export type Weighted = { readonly address: Address; readonly weight: number }

/** Returns the nodes in the order of a draw, which is by address. */
export function inPoolOrder<T extends Weighted>(pool: readonly T[]): readonly T[] {
  // Stores list nodes by address, so mostly there is nothing to sort.
  const isOrdered = pool.every((node, index) => {
    const before = pool[index - 1]
    return before === undefined || before.address <= node.address
  })
  return isOrdered ? pool : pool.toSorted((a, b) => (a.address < b.address ? -1 : 1))
}

/**
 * Draws up to `count` different nodes, each with a chance proportional to its weight. Uses integers only, so the same seed and pool give
 * the same nodes everywhere. Throws RangeError for weights that are not positive, or whose sum is not a safe integer.
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
  // Below 2^53 sums of integers are exact in any order.
  if (!Number.isSafeInteger(total)) throw new RangeError('The weights of a draw are too large')
  return total
}

/** 256 bits modulo a total far below 2^256 are as good as uniform. */
function pointOf(seed: Hash32, turn: number, total: number): number {
  if (total <= 0) throw needsPositiveWeights()
  const bits = hexToBigInt(keccak256(concat([seed, numberToHex(turn, { size: 4 })])))
  return Number(bits % BigInt(total))
}

/** Returns the index at which the running sum of the remaining weights exceeds the point. */
function indexAt(nodes: readonly Weighted[], taken: ReadonlySet<number>, point: number): number {
  let left = point
  for (const [index, { weight }] of nodes.entries()) {
    if (taken.has(index)) continue
    left -= weight
    if (left < 0) return index
  }
  throw needsPositiveWeights()
}
