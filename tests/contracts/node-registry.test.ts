import { afterAll, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { until } from '../eventually.ts'
import { createRegistryCalls } from './node-registry-calls.ts'
import { DAY_S, eventsOf, MIN_STAKE, read, revertOf, startTestChain } from './test-chain.ts'

type NodeState = {
  stake: bigint
  modelTiers: readonly number[]
  lastHeartbeat: bigint
  registeredAt: bigint
  unbondingAt: bigint
  pendingSlashes: number
  slashed: bigint
  active: boolean
}

const chain = await startTestChain()
afterAll(() => chain.stop())

const { call, as } = createRegistryCalls(() => chain)
const nodeOf = (index: number) => read<NodeState>(chain, call('nodeOf', [chain.addressOf(index)]))
const isActive = (index: number) => read<boolean>(chain, call('isActive', [chain.addressOf(index)]))

describe('registration', () => {
  it('takes the caller as operator with its stake and tiers, alive at once', async () => {
    const receipt = await as(4, 'register', [[0, 2]], MIN_STAKE)
    const operator = chain.wallet(4).walletClient.account.address
    const time = BigInt(await chain.now())
    expect(eventsOf(receipt, nodeRegistryAbi)).toEqual([
      { name: 'Registered', operator, stake: MIN_STAKE, modelTiers: [0, 2] },
      { name: 'Heartbeat', operator, time },
    ])
    expect(await nodeOf(4)).toEqual({
      stake: MIN_STAKE,
      modelTiers: [0, 2],
      lastHeartbeat: time,
      registeredAt: time,
      unbondingAt: 0n,
      pendingSlashes: 0,
      slashed: 0n,
      active: true,
    })
    expect(await revertOf(as(4, 'register', [[0]], MIN_STAKE))).toEqual([
      'AlreadyRegistered',
      chain.addressOf(4),
    ])
  })

  it('refuses a stake below the minimum and lists of tiers that are not strictly rising', async () => {
    expect(await revertOf(as(5, 'register', [[0]], MIN_STAKE - 1n))).toEqual([
      'StakeTooLow',
      MIN_STAKE - 1n,
      MIN_STAKE,
    ])
    const tooMany = Array.from({ length: 17 }, (_, tier) => tier)
    for (const tiers of [[], [1, 1], [2, 1], tooMany]) {
      expect(await revertOf(as(5, 'register', [tiers], MIN_STAKE))).toEqual(['InvalidModelTiers'])
    }
    expect((await nodeOf(5)).registeredAt).toBe(0n)
    expect(await isActive(5)).toBe(false)
  })

  it('lets only operators add stake, set tiers, send heartbeats or unbond', async () => {
    for (const [name, args, value] of [
      ['addStake', [], 1n],
      ['setModelTiers', [[1]], undefined],
      ['heartbeat', [], undefined],
      ['beginUnbonding', [], undefined],
      ['cancelUnbonding', [], undefined],
      ['withdraw', [], undefined],
    ] as const) {
      expect(await revertOf(as(5, name, args, value))).toEqual([
        'NotRegistered',
        chain.addressOf(5),
      ])
    }
  })

  it('adds stake and changes tiers', async () => {
    const operator = chain.wallet(4).walletClient.account.address
    expect(eventsOf(await as(4, 'addStake', [], 5n), nodeRegistryAbi)).toEqual([
      { name: 'StakeAdded', operator, amount: 5n, stake: MIN_STAKE + 5n },
    ])
    expect(await revertOf(as(4, 'addStake'))).toEqual(['InvalidAmount', 0n])
    expect(eventsOf(await as(4, 'setModelTiers', [[3]]), nodeRegistryAbi)).toEqual([
      { name: 'ModelTiersSet', operator, modelTiers: [3] },
    ])
    expect(await revertOf(as(4, 'setModelTiers', [[]]))).toEqual(['InvalidModelTiers'])
    expect((await nodeOf(4)).modelTiers).toEqual([3])
  })

  it('accepts no wei outside a stake', async () => {
    const { publicClient, walletClient } = chain.wallet(5)
    const bare = publicClient.call({
      account: walletClient.account,
      to: chain.nodeRegistry,
      value: 1n,
    })
    await expect(bare).rejects.toThrow()
  })
})

it('liveness lasts 11 days from the last heartbeat', async () => {
  const { blockNumber } = await as(4, 'heartbeat')
  const { timestamp } = await chain.wallet(0).publicClient.getBlock({ blockNumber })
  // A call may be answered from the block before.
  await until(
    async () =>
      (await read<bigint>(chain, call('lastHeartbeat', [chain.addressOf(4)]))) === timestamp,
  )
  await chain.increaseTime(11 * DAY_S - 60)
  expect(await isActive(4)).toBe(true)
  await chain.increaseTime(120)
  expect(await isActive(4)).toBe(false)
  await as(4, 'heartbeat')
  expect(await isActive(4)).toBe(true)
})

it('leaving takes seven days, can be called off, and pays the whole stake', async () => {
  const operator = chain.wallet(4).walletClient.account.address
  expect(await revertOf(as(4, 'withdraw'))).toEqual(['NotUnbonding', chain.addressOf(4)])
  expect(await revertOf(as(4, 'cancelUnbonding'))).toEqual(['NotUnbonding', chain.addressOf(4)])
  await as(4, 'beginUnbonding')
  expect(await isActive(4)).toBe(false)
  expect(await revertOf(as(4, 'beginUnbonding'))).toEqual(['Unbonding', chain.addressOf(4)])
  expect(await revertOf(as(4, 'addStake', [], 1n))).toEqual(['Unbonding', chain.addressOf(4)])
  expect(eventsOf(await as(4, 'cancelUnbonding'), nodeRegistryAbi)).toEqual([
    { name: 'UnbondingCancelled', operator },
  ])
  expect(await isActive(4)).toBe(true)

  const begun = await as(4, 'beginUnbonding')
  const withdrawableAt = BigInt((await chain.now()) + 7 * DAY_S)
  expect(eventsOf(begun, nodeRegistryAbi)).toEqual([
    { name: 'UnbondingBegun', operator, withdrawableAt },
  ])
  await chain.increaseTime(7 * DAY_S - 60)
  expect(await revertOf(as(4, 'withdraw'))).toEqual(['TooEarly', withdrawableAt])
  await chain.increaseTime(60)
  const { publicClient } = chain.wallet(4)
  const before = await publicClient.getBalance({ address: operator })
  const receipt = await as(4, 'withdraw')
  const gasPaid = receipt.gasUsed * receipt.effectiveGasPrice
  expect((await publicClient.getBalance({ address: operator })) - before + gasPaid).toBe(
    MIN_STAKE + 5n,
  )
  expect(eventsOf(receipt, nodeRegistryAbi)).toEqual([
    { name: 'Withdrawn', operator, amount: MIN_STAKE + 5n },
  ])
  expect((await nodeOf(4)).registeredAt).toBe(0n)
  expect(await read<bigint>(chain, call('totalStake'))).toBe(0n)
  await as(4, 'register', [[0]], MIN_STAKE)
  expect(await isActive(4)).toBe(true)
})
