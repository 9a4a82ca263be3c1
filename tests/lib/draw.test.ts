import { keccak256, stringToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Hash32 } from '../../lib/codecs.ts'
import { drawable, drawFrom, drawNodes } from '../../lib/draw.ts'
import { anAddress } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const seedOf = (text: string) => keccak256(stringToHex(text)) as Hash32
const pool = ['1', '2', '3', '4', '5'].map((digit) => ({
  address: nodeAddress(digit),
  weight: 100,
}))

describe('a draw', () => {
  it('is the same for the same seed and pool, in whatever order the pool is listed', () => {
    const drawn = drawNodes(seedOf('a'), pool, 3)
    expect(drawNodes(seedOf('a'), pool.toReversed(), 3)).toEqual(drawn)
    expect(new Set(drawn).size).toBe(3)
  })

  it('is known to all who draw again', () => {
    // Fixed: another implementation must come to the same nodes.
    const drawn = drawNodes(seedOf('fixed'), pool, 3)
    expect(drawn.map((address) => address[2])).toEqual(['4', '1', '5'])
  })

  it('of many nodes is known, too', () => {
    // Fixed, as above: made by adding up big integers and taking nodes out of a list.
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      address: anAddress(`0x${((index * 7_919) % 1_000).toString().padStart(40, '0')}`),
      weight: 1 + ((index * 104_729) % 999_999_999),
    }))
    const drawn = drawNodes(seedOf('fixed'), many, 7)
    expect(drawn.map((address) => Number(address.slice(2)))).toEqual([
      312, 390, 747, 854, 770, 369, 225,
    ])
  })

  it('without a node is the one from a pool without it', () => {
    const ready = drawable(pool)
    for (const { address } of [...pool, { address: nodeAddress('9') }]) {
      const others = pool.filter((other) => other.address !== address)
      for (const seed of ['a', 'b', 'c', 'd'].map(seedOf)) {
        expect(drawFrom(seed, ready, 9, address)).toEqual(drawNodes(seed, others, 9))
      }
    }
  })

  it('takes all there are when more are asked for, and none from an empty pool', () => {
    expect(new Set(drawNodes(seedOf('a'), pool, 9)).size).toBe(5)
    expect(drawNodes(seedOf('a'), [], 3)).toEqual([])
  })

  it('begins alike however many are drawn', () => {
    const all = drawNodes(seedOf('a'), pool, 5)
    for (const count of [0, 1, 2, 3, 4]) {
      expect(drawNodes(seedOf('a'), pool, count)).toEqual(all.slice(0, count))
    }
  })

  it('favours nodes by their weight', () => {
    const weights = [1, 10, 100, 200, 689]
    const uneven = pool.map((candidate, index) => ({ ...candidate, weight: weights[index]! }))
    const first = new Map<string, number>()
    const draws = 4_000
    for (let turn = 0; turn < draws; turn++) {
      const [node] = drawNodes(seedOf(`${turn}`), uneven, 1)
      first.set(node!, (first.get(node!) ?? 0) + 1)
    }
    for (const [index, { address }] of uneven.entries()) {
      const share = weights[index]! / 1_000
      const deviation = Math.sqrt((share * (1 - share)) / draws)
      expect(Math.abs((first.get(address) ?? 0) / draws - share)).toBeLessThan(
        4 * deviation + 0.001,
      )
    }
  })
})
