import { describe, expect, it } from 'vitest'
import { drawFrom, drawNodes, freeNodes } from '../../lib/draw.ts'
import { anAddress } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const seedOf = (message: string) => ({ message, signature: 's' })
const pool = ['1', '2', '3', '4', '5'].map((digit) => ({
  address: nodeAddress(digit),
  weight: 100,
  busy: false,
}))

describe('a draw', () => {
  it('is the same for the same seed and pool, in whatever order the pool is listed', () => {
    const draw = drawNodes(seedOf('a'), pool, 3)
    expect(drawNodes(seedOf('a'), pool.toReversed(), 3)).toEqual(draw)
    expect(new Set(draw.chosen).size).toBe(3)
  })

  it('is known to all who recompute it', () => {
    // Fixed: another implementation must come to the same nodes.
    const { chosen, poolDigest } = drawNodes(seedOf('fixed'), pool, 3)
    expect(chosen.map((address) => address[2])).toEqual(['3', '5', '4'])
    expect(poolDigest).toBe('0xe8473fdf0e69ddd82f2f3279e1be2481028992ed19bb6d9f3f6f4cc2457359b4')
  })

  it('of many nodes is known, too, and the same from a pool whose digest is known', () => {
    // Fixed, as above: made by adding up big integers and taking nodes out of a list.
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      address: anAddress(`0x${((index * 7_919) % 1_000).toString().padStart(40, '0')}`),
      weight: 1 + ((index * 104_729) % 999_999_999),
      busy: index % 5 === 0,
    }))
    const draw = drawNodes(seedOf('fixed'), many, 7)
    expect(draw.chosen.map((address) => Number(address.slice(2)))).toEqual([
      793, 864, 708, 963, 419, 86, 147,
    ])
    expect(draw.poolDigest).toBe(
      '0xf9684bfb0ad64322a44942e4e17ec731e0abec5f9dde4ef449b44b0e17ae69b4',
    )
    const known = { free: freeNodes(many), digest: draw.poolDigest }
    expect(drawFrom(seedOf('fixed'), known, 7)).toEqual(draw)
  })

  it('takes all there are when more are asked for, and none from an empty pool', () => {
    expect(new Set(drawNodes(seedOf('a'), pool, 9).chosen).size).toBe(5)
    expect(drawNodes(seedOf('a'), [], 3).chosen).toEqual([])
  })

  it('leaves out busy nodes, and says so in its digest', () => {
    const busy = pool.map((candidate, index) => ({ ...candidate, busy: index < 3 }))
    const draw = drawNodes(seedOf('a'), busy, 3)
    expect(new Set(draw.chosen)).toEqual(new Set([nodeAddress('4'), nodeAddress('5')]))
    expect(draw.poolDigest).not.toBe(drawNodes(seedOf('a'), pool, 3).poolDigest)
    expect(draw.poolDigest).toBe(drawNodes(seedOf('b'), busy.slice(3), 2).poolDigest)
  })

  it('favours nodes by their weight', () => {
    const weights = [1, 10, 100, 200, 689]
    const uneven = pool.map((candidate, index) => ({ ...candidate, weight: weights[index]! }))
    const first = new Map<string, number>()
    const draws = 4_000
    for (let turn = 0; turn < draws; turn++) {
      const [node] = drawNodes(seedOf(`${turn}`), uneven, 1).chosen
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
