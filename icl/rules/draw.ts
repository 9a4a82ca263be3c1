import { concat, type Hex, hexToBigInt, keccak256, numberToHex, stringToHex } from 'viem'
import type { Address, Hash32 } from '../../lib/codecs.ts'

/** A node that could take a seat; a busy one could later. */
export type Candidate = {
  readonly address: Address
  /** A positive integer. */
  readonly weight: number
  readonly busy: boolean
}

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
}

/** The pool in one order, whoever lists it. */
const ordered = (pool: readonly Candidate[]): readonly Candidate[] =>
  [...pool].sort((a, b) => (a.address < b.address ? -1 : 1))

/** keccak256 over the addresses and weights of those drawn from, in order. */
const poolDigest = (pool: readonly Candidate[]): Hash32 =>
  keccak256(stringToHex(pool.map(({ address, weight }) => `${address}:${weight}`).join('\n')))

/**
 * Draws up to `count` different nodes that are not busy, each with a chance proportional to its weight. The same seed
 * and pool give the same nodes everywhere: integers only.
 */
export function drawNodes(seed: DrawSeed, pool: readonly Candidate[], count: number): Draw {
  const entropy = keccak256(stringToHex(`svc-draw-v1\n${seed.message}\n${seed.signature}`))
  const free = ordered(pool).filter(({ busy }) => !busy)
  const left = [...free]
  const chosen: Address[] = []
  while (chosen.length < count && left.length > 0) {
    const index = pick(entropy, chosen.length, left)
    chosen.push(...left.splice(index, 1).map(({ address }) => address))
  }
  return { ...seed, poolDigest: poolDigest(free), chosen }
}

function pick(entropy: Hex, turn: number, left: readonly Candidate[]): number {
  const total = left.reduce((sum, { weight }) => sum + BigInt(weight), 0n)
  // 256 bits modulo a total below 2^40 is uniform for every purpose.
  let point = hexToBigInt(keccak256(concat([entropy, numberToHex(turn, { size: 4 })]))) % total
  for (const [index, { weight }] of left.entries()) {
    point -= BigInt(weight)
    if (point < 0n) return index
  }
  throw new RangeError('A draw needs positive weights')
}
