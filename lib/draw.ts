import { concat, type Hex, hexToBigInt, keccak256, numberToHex, stringToHex } from 'viem'
import type { Address, Hash32 } from './codecs.ts'
import { keccak256Hex, utf8 } from './digest.ts'

/** A node with its weight in a draw, a positive integer. */
export type Weighted = { readonly address: Address; readonly weight: number }

/** A node that could take a seat; a busy one could later. */
export type Candidate = Weighted & { readonly busy: boolean }

/** What a draw is made from: signed by the ICL, so that it can neither be ground nor denied. */
export type DrawSeed = {
  /** The text that was signed: who asks, for what, in which epoch with which block. */
  readonly message: string
  /** The ICL's deterministic Ed25519 signature over the message, base64url. */
  readonly signature: string
}

/** A draw as it is recorded, with all that recomputing it takes. */
export type Draw = DrawSeed & {
  readonly poolDigest: Hash32
  readonly chosen: readonly Address[]
  /** Where the pool is kept; absent when there was no room for it. */
  readonly poolCid?: string | undefined
}

/** What of a draw depends on the pool alone, so that many draws from one pool have it in common. */
export type DrawPool = {
  /** Those that can be drawn, in pool order. */
  readonly free: readonly Weighted[]
  readonly digest: Hash32
}

/** Nodes in the one order in which they are drawn from, whoever lists them. */
export function inPoolOrder<T extends Weighted>(pool: readonly T[]): readonly T[] {
  // Stores list nodes by address: mostly there is nothing to sort.
  const isOrdered = pool.every((node, index) => {
    const before = pool[index - 1]
    return before === undefined || before.address <= node.address
  })
  return isOrdered ? pool : pool.toSorted((a, b) => (a.address < b.address ? -1 : 1))
}

/** The nodes of a pool that are not busy, in pool order. */
export const freeNodes = (pool: readonly Candidate[]): readonly Weighted[] =>
  inPoolOrder(pool.filter(({ busy }) => !busy))

/** A node as a pool's digest and snapshot have it. */
export const poolLine = ({ address, weight }: Weighted): string => `${address}:${weight}`

/** What the digest of a pool in order is made over: equal for equal pools only. */
export const poolText = (ordered: readonly Weighted[]): string => ordered.map(poolLine).join('\n')

/** keccak256 over the addresses and weights of those drawn from, in order. */
export const digestOfPool = (text: string): Hash32 => keccak256Hex(utf8(text))

/**
 * Draws up to `count` different nodes that are not busy, each with a chance proportional to its weight. The same seed
 * and pool give the same nodes everywhere: integers only.
 */
export function drawNodes(seed: DrawSeed, pool: readonly Candidate[], count: number): Draw {
  const free = freeNodes(pool)
  return drawFrom(seed, { free, digest: digestOfPool(poolText(free)) }, count)
}

/** The draw that `drawNodes` makes, from a pool whose digest is known. */
export function drawFrom(seed: DrawSeed, { free, digest }: DrawPool, count: number): Draw {
  const { message, signature } = seed
  const entropy = keccak256(stringToHex(`svc-draw-v1\n${message}\n${signature}`))
  const taken = new Set<number>()
  const chosen: Address[] = []
  let total = totalWeight(free)
  while (chosen.length < count && chosen.length < free.length) {
    const index = indexAt(free, taken, pointOf(entropy, chosen.length, total))
    const node = free[index]
    if (node === undefined) throw needsPositiveWeights()
    taken.add(index)
    chosen.push(node.address)
    total -= node.weight
  }
  return { message, signature, poolDigest: digest, chosen }
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
function pointOf(entropy: Hex, turn: number, total: number): number {
  if (total <= 0) throw needsPositiveWeights()
  const bits = hexToBigInt(keccak256(concat([entropy, numberToHex(turn, { size: 4 })])))
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
