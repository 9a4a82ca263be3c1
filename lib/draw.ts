import { concat, hexToBigInt, keccak256, numberToHex } from 'viem'
import type { Address, Hash32 } from './codecs.ts'
import { firstIndex } from './first-index.ts'

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

/** A pool that many draws are made from: its nodes in the order of a draw, and the sum of the weights up to each. */
export type Drawable = { readonly nodes: readonly Weighted[]; readonly sums: readonly number[] }

/** Prepares draws from a pool. Throws RangeError when the sum of the weights is not a safe integer. */
export function drawable(pool: readonly Weighted[]): Drawable {
  const nodes = inPoolOrder(pool)
  let total = 0
  const sums = nodes.map(({ weight }) => {
    total += weight
    return total
  })
  // Below 2^53 sums of integers are exact in any order.
  if (!Number.isSafeInteger(total)) throw new RangeError('The weights of a draw are too large')
  return { nodes, sums }
}

/**
 * Draws up to `count` different nodes, each with a chance proportional to its weight. Uses integers only, so the same seed and pool give
 * the same nodes everywhere. Throws RangeError for weights that are not positive, or whose sum is not a safe integer.
 */
export const drawNodes = (
  seed: Hash32,
  pool: readonly Weighted[],
  count: number,
): readonly Address[] => drawFrom(seed, drawable(pool), count)

/** Draws like `drawNodes` from a prepared pool, as if it did not have the node `without`. */
export function drawFrom(
  seed: Hash32,
  { nodes, sums }: Drawable,
  count: number,
  without?: Address,
): readonly Address[] {
  const taken: number[] = []
  const chosen: Address[] = []
  let total = sums.at(-1) ?? 0
  const take = (index: number) => {
    taken.push(index)
    total -= nodes[index]?.weight ?? 0
  }
  if (without !== undefined) {
    let own = firstIndex(nodes.length, (index) => (nodes[index]?.address ?? '') >= without)
    while (nodes[own]?.address === without) take(own++)
  }
  while (chosen.length < count && taken.length < nodes.length) {
    const index = indexAt(sums, taken, pointOf(seed, chosen.length, total))
    const node = nodes[index]
    if (node === undefined || node.weight <= 0) throw needsPositiveWeights()
    take(index)
    chosen.push(node.address)
  }
  return chosen
}

const needsPositiveWeights = () => new RangeError('A draw needs positive weights')

/** 256 bits modulo a total far below 2^256 are as good as uniform. */
function pointOf(seed: Hash32, turn: number, total: number): number {
  if (total <= 0) throw needsPositiveWeights()
  const bits = hexToBigInt(keccak256(concat([seed, numberToHex(turn, { size: 4 })])))
  return Number(bits % BigInt(total))
}

/** Returns the index at which the running sum of the remaining weights exceeds the point. */
function indexAt(sums: readonly number[], taken: readonly number[], point: number): number {
  let at = point
  for (const index of taken.toSorted((a, b) => a - b)) {
    const before = sums[index - 1] ?? 0
    if (at >= before) at += (sums[index] ?? 0) - before
  }
  return firstIndex(sums.length, (index) => (sums[index] ?? 0) > at)
}
