import { expect, it } from 'vitest'
import { firstPositions } from '../../lib/list.ts'
import { offersOf } from './node-steps.ts'
import { listedKey, submit } from './test-client.ts'
import { beat, createTestIcl, joinNodes } from './test-icl.ts'

// Nothing stops it. docs/security.md tells the price.
it('a client that fills the other six nodes by jobs of its own gets the last three of its list', async () => {
  const icl = await createTestIcl()
  const nodes = await joinNodes(icl, 9)
  const key = await listedKey(icl)
  const { list } = key.list.body
  await icl.clock.advance(1_000)
  const others = nodes.filter(({ address }) => list.slice(0, 6).includes(address))
  for (const node of nodes) await beat(icl, node, others.includes(node) ? 2 : 50)
  const areFull = async () => {
    const slots = await icl.deps.store.countOccupiedSlots()
    return others.every(({ address }) => {
      const { offered = 0, claimed = 0 } = slots.get(address) ?? {}
      return offered + claimed >= 2
    })
  }
  let jobs = 0
  for (; !(await areFull()); jobs++) {
    await submit(icl, { client: `filler ${jobs}` })
    for (const node of others) {
      for (const { jobId, fence } of await offersOf(node)) {
        await node.api.claimAssignment({ body: { jobId, fence } })
      }
    }
  }
  expect(jobs).toBeLessThan(64)
  await icl.clock.advance(1_500)
  const { body } = await key.api.drawList({ body: key.request })
  expect(firstPositions(9, key.list.body.passed, 3)).toEqual([0, 1, 2])
  expect(firstPositions(9, body.passed, 3)).toEqual([6, 7, 8])
  await icl.stop()
})
