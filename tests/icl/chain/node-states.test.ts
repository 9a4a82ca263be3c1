import { expect, it } from 'vitest'
import { createNodeStates } from '../../../icl/chain/node-states.ts'
import type { ReadClient } from '../../../lib/chain/clients.ts'
import { anAddress } from '../../branded.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

const node = anAddress(`0x${'a'.repeat(40)}`)
const registered = { registeredAt: 1n, unbondingAt: 0n, active: true, modelTiers: [0] }

it('a look at a node as it is now that fails leaves what is remembered of it, for as long as before', async () => {
  const clock = createVirtualClock()
  let multicall = async () => [registered]
  const publicClient = { multicall: () => multicall() } as unknown as ReadClient
  const nodesOf = createNodeStates(publicClient, node, clock)
  const isActive = async (when?: 'now') => (await nodesOf([node], when)).get(node)?.active
  expect(await isActive()).toBe(true)
  multicall = () => Promise.reject(new Error('the chain is away'))
  await clock.advance(14_000)
  await expect(isActive('now')).rejects.toMatchObject({ code: 'chain-unavailable' })
  expect(await isActive()).toBe(true)
  await clock.advance(1_000)
  await expect(isActive()).rejects.toMatchObject({ code: 'chain-unavailable' })
})

it('a look at a node as it is now that answers late does not replace what a later look found', async () => {
  const clock = createVirtualClock()
  const slow = Promise.withResolvers<object[]>()
  const answers = [slow.promise, Promise.resolve([{ ...registered, active: false }])]
  const publicClient = { multicall: () => answers.shift() } as unknown as ReadClient
  const nodesOf = createNodeStates(publicClient, node, clock)
  const late = nodesOf([node], 'now')
  await clock.advance(3_000)
  await nodesOf([node], 'now')
  slow.resolve([registered])
  await late
  await clock.advance(1)
  expect((await nodesOf([node])).get(node)?.active).toBe(false)
})
