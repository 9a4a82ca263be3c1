import { keccak256, stringToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { createHeldPools } from '../../icl/held-pools.ts'
import type { Address } from '../../lib/codecs.ts'
import { drawNodes, inPoolOrder } from '../../lib/draw.ts'
import { readPool, snapshotPool } from '../../lib/pool-snapshot.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const heldMs = 60_000
const nodes = inPoolOrder(
  Array.from({ length: 2_000 }, (_, index) => ({
    address: keccak256(stringToHex(`node ${index}`)).slice(0, 42) as Address,
    weight: 100,
  })),
)
/** The pool in which the node at `index` has another weight. */
const changedAt = (index: number) =>
  nodes.map((node, at) => (at === index ? { ...node, weight: 101 } : node))

describe('the pools of previews in memory', () => {
  it('are those that a snapshot and a draw of them have', async () => {
    const held = createHeldPools(createVirtualClock(), heldMs)
    const { root, digest } = await held.hold(nodes)
    expect(root).toBe((await snapshotPool(nodes)).root)
    const free = nodes.map((node) => ({ ...node, busy: false }))
    expect(digest).toBe(drawNodes({ message: '', signature: '' }, free, 1).poolDigest)
    const parts = held.partsOf(root)
    const read = await readPool(root, async (cid) => parts!.get(cid)!)
    expect(read.nodes).toEqual(nodes)
  })

  it('go when their time is over, which another preview puts off', async () => {
    const clock = createVirtualClock()
    const held = createHeldPools(clock, heldMs)
    const [first, second] = [await held.hold(nodes), await held.hold(changedAt(0))]
    await clock.advance(heldMs / 2)
    await held.hold(nodes)
    await clock.advance(heldMs / 2)
    expect(held.partsOf(second.root)).toBeUndefined()
    expect(held.partsOf(first.root)?.size).toBe((await snapshotPool(nodes)).parts.size)
    await clock.advance(heldMs / 2)
    expect(held.isEmpty()).toBe(true)
  })

  it('share what they have in common, and the oldest go when there are too many', async () => {
    const { parts } = await snapshotPool(nodes)
    const bytes = [...parts.values()].reduce((sum, part) => sum + part.length, 0)
    const held = createHeldPools(createVirtualClock(), heldMs, 2 * bytes)
    const roots: string[] = []
    for (let index = 0; index < 100; index++) roots.push((await held.hold(changedAt(index))).root)
    const kept = roots.map((root) => held.partsOf(root) !== undefined)
    // Apart from one another, two would fill it.
    expect(kept.filter(Boolean).length).toBeGreaterThan(5)
    expect(kept[0]).toBe(false)
    expect(kept).toEqual(kept.toSorted((a, b) => Number(a) - Number(b)))
    const distinct = new Map(roots.flatMap((root) => [...(held.partsOf(root) ?? [])]))
    const heldBytes = [...distinct.values()].reduce((sum, part) => sum + part.length, 0)
    expect(heldBytes).toBeLessThanOrEqual(2 * bytes)
    for (const root of roots.slice(-3)) {
      const found = held.partsOf(root)!
      expect((await readPool(root, async (cid) => found.get(cid)!)).nodes).toHaveLength(2_000)
    }
  })
})
