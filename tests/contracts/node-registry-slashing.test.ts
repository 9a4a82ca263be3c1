import { type Hex, pad, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { createRegistryCalls } from './node-registry-calls.ts'
import {
  DAY_S,
  eventsOf,
  MIN_STAKE,
  read,
  revertOf,
  startTestChain,
  type TestChain,
} from './test-chain.ts'

const COORDINATOR = 1
const ARBITER = 2
const TREASURY = 3
const OPERATOR = 4
const OTHER = 5

const role = (name: string) => pad(toHex(name), { dir: 'right', size: 32 })
const fault = (index: number) => pad(toHex(index), { size: 32 })
const EVIDENCE = pad('0xee', { size: 32 })
const ANSWER = pad('0xaa', { size: 32 })

let chain: TestChain
beforeAll(async () => {
  chain = await startTestChain()
  for (const index of [OPERATOR, OTHER]) await as(index, 'register', [[0]], MIN_STAKE)
}, 60_000)
afterAll(() => chain.stop())

const { call, as } = createRegistryCalls(() => chain)
const propose = (index: number, amount: bigint, operator = OPERATOR) =>
  as(COORDINATOR, 'proposeSlash', [fault(index), chain.addressOf(operator), amount, EVIDENCE])
const stateOf = (index: number) =>
  read<{ stake: bigint; slashed: bigint; pendingSlashes: number; active: boolean }>(
    chain,
    call('nodeOf', [chain.addressOf(index)]),
  )

const expectBalanced = async () => {
  const { publicClient } = chain.wallet(0)
  const [balance, staked, owed] = await Promise.all([
    publicClient.getBalance({ address: chain.nodeRegistry }),
    read<bigint>(chain, call('totalStake')),
    read<bigint>(chain, call('treasuryBalance')),
  ])
  expect(staked + owed).toBe(balance)
  const stakes = await Promise.all([OPERATOR, OTHER].map((index) => stateOf(index)))
  expect(stakes.reduce((sum, { stake }) => sum + stake, 0n)).toBe(staked)
}

describe('a proposed slash', () => {
  it('comes from the coordinator only, complete, against an operator', async () => {
    const operator = chain.addressOf(OPERATOR)
    const args = [fault(1), operator, 1n, EVIDENCE]
    for (const index of [ARBITER, TREASURY, OPERATOR]) {
      expect(await revertOf(as(index, 'proposeSlash', args))).toEqual([
        'MissingRole',
        role('coordinator'),
        chain.addressOf(index),
      ])
    }
    const refused = (changed: readonly unknown[]) =>
      revertOf(as(COORDINATOR, 'proposeSlash', changed))
    expect(await refused([fault(0), operator, 1n, EVIDENCE])).toEqual(['EmptyHash'])
    expect(await refused([fault(1), operator, 1n, fault(0)])).toEqual(['EmptyHash'])
    expect(await refused([fault(1), operator, 0n, EVIDENCE])).toEqual(['InvalidAmount', 0n])
    expect(await refused([fault(1), chain.addressOf(9), 1n, EVIDENCE])).toEqual([
      'NotRegistered',
      chain.addressOf(9),
    ])
  })

  it('can be answered once by the accused, and is executed after three days by anybody', async () => {
    const operator = chain.wallet(OPERATOR).walletClient.account.address
    const proposed = await propose(1, 300n)
    const executableAt = BigInt((await chain.now()) + 3 * DAY_S)
    expect(eventsOf(proposed, nodeRegistryAbi)).toEqual([
      {
        name: 'SlashProposed',
        faultId: fault(1),
        operator,
        amount: 300n,
        evidenceHash: EVIDENCE,
        executableAt,
      },
    ])
    expect((await stateOf(OPERATOR)).pendingSlashes).toBe(1)
    expect((await stateOf(OPERATOR)).active).toBe(true)
    expect(await revertOf(propose(1, 300n))).toEqual(['FaultAlreadyUsed', fault(1)])

    expect(await revertOf(as(OTHER, 'answer', [fault(1), ANSWER]))).toEqual([
      'NotAccused',
      fault(1),
      chain.addressOf(OTHER),
    ])
    expect(await revertOf(as(OPERATOR, 'answer', [fault(1), fault(0)]))).toEqual(['EmptyHash'])
    expect(eventsOf(await as(OPERATOR, 'answer', [fault(1), ANSWER]), nodeRegistryAbi)).toEqual([
      { name: 'SlashAnswered', faultId: fault(1), operator, answerHash: ANSWER },
    ])
    expect(await revertOf(as(OPERATOR, 'answer', [fault(1), ANSWER]))).toEqual([
      'AlreadyAnswered',
      fault(1),
    ])

    await chain.increaseTime(3 * DAY_S - 60)
    expect(await revertOf(as(OTHER, 'executeSlash', [fault(1)]))).toEqual([
      'TooEarly',
      executableAt,
    ])
    await chain.increaseTime(60)
    expect(eventsOf(await as(OTHER, 'executeSlash', [fault(1)]), nodeRegistryAbi)).toEqual([
      { name: 'SlashExecuted', faultId: fault(1), operator, amount: 300n },
    ])
    expect(await stateOf(OPERATOR)).toMatchObject({
      stake: MIN_STAKE - 300n,
      slashed: 300n,
      pendingSlashes: 0,
      active: false,
    })
    expect(await revertOf(as(OTHER, 'executeSlash', [fault(1)]))).toEqual([
      'SlashNotPending',
      fault(1),
    ])
    expect(await revertOf(propose(1, 300n))).toEqual(['FaultAlreadyUsed', fault(1)])
    await expectBalanced()
  })

  it('is dismissed by the arbiter, and by nobody else', async () => {
    await propose(2, 5n)
    expect(await revertOf(as(COORDINATOR, 'cancelSlash', [fault(2)]))).toEqual([
      'MissingRole',
      role('arbiter'),
      chain.addressOf(COORDINATOR),
    ])
    const operator = chain.wallet(OPERATOR).walletClient.account.address
    expect(eventsOf(await as(ARBITER, 'cancelSlash', [fault(2)]), nodeRegistryAbi)).toEqual([
      { name: 'SlashCancelled', faultId: fault(2), operator },
    ])
    await chain.increaseTime(4 * DAY_S)
    expect(await revertOf(as(OTHER, 'executeSlash', [fault(2)]))).toEqual([
      'SlashNotPending',
      fault(2),
    ])
    expect(await revertOf(propose(2, 5n))).toEqual(['FaultAlreadyUsed', fault(2)])
    const slash = await read<{ settled: boolean; operator: Hex }>(
      chain,
      call('slashOf', [fault(2)]),
    )
    expect(slash).toMatchObject({ settled: true, operator })
  })

  it('takes no more than the stake, pays the treasury on request, and survives a new registration', async () => {
    await propose(3, MIN_STAKE * 5n)
    await propose(4, 1n)
    await chain.increaseTime(3 * DAY_S)
    await as(OTHER, 'executeSlash', [fault(3)])
    await as(OTHER, 'executeSlash', [fault(4)])
    expect(await stateOf(OPERATOR)).toMatchObject({ stake: 0n, slashed: MIN_STAKE })
    await expectBalanced()

    const { publicClient } = chain.wallet(0)
    const before = await publicClient.getBalance({ address: chain.addressOf(TREASURY) })
    const treasury = chain.wallet(TREASURY).walletClient.account.address
    expect(eventsOf(await as(OTHER, 'payTreasury'), nodeRegistryAbi)).toEqual([
      { name: 'TreasuryPaid', treasury, amount: MIN_STAKE },
    ])
    expect((await publicClient.getBalance({ address: treasury })) - before).toBe(MIN_STAKE)
    expect(await revertOf(as(OTHER, 'payTreasury'))).toEqual(['InvalidAmount', 0n])
    await expectBalanced()

    await as(OPERATOR, 'beginUnbonding')
    await chain.increaseTime(7 * DAY_S)
    await as(OPERATOR, 'withdraw')
    await as(OPERATOR, 'register', [[0]], MIN_STAKE)
    expect(await stateOf(OPERATOR)).toMatchObject({ stake: MIN_STAKE, slashed: MIN_STAKE })
  })

  it('freezes a withdrawal, but cannot be raised once unbonding is over', async () => {
    await as(OTHER, 'beginUnbonding')
    await chain.increaseTime(6 * DAY_S)
    await propose(5, 10n, OTHER)
    await chain.increaseTime(DAY_S)
    expect(await revertOf(as(OTHER, 'withdraw'))).toEqual(['StakeFrozen', 1])
    expect(await revertOf(propose(6, 10n, OTHER))).toEqual([
      'UnbondingOver',
      chain.addressOf(OTHER),
    ])
    await chain.increaseTime(2 * DAY_S)
    await as(OTHER, 'executeSlash', [fault(5)])
    await as(OTHER, 'withdraw')
    expect(await stateOf(OTHER)).toMatchObject({ stake: 0n, slashed: 10n })
    await expectBalanced()
  })
})

describe('a role', () => {
  it('passes in two steps, to the one it was offered to', async () => {
    const [treasury, next] = [role('treasury'), chain.addressOf(8)]
    const holder = () => read<Hex>(chain, call('holderOf', [treasury]))
    expect(await revertOf(as(8, 'offerRole', [treasury, next]))).toEqual([
      'MissingRole',
      treasury,
      next,
    ])
    const offered = await as(TREASURY, 'offerRole', [treasury, next])
    expect(eventsOf(offered, nodeRegistryAbi).map(({ name }) => name)).toEqual(['RoleOffered'])
    expect((await holder()).toLowerCase()).toBe(chain.addressOf(TREASURY))
    expect(await revertOf(as(9, 'acceptRole', [treasury]))).toEqual([
      'RoleNotOffered',
      treasury,
      chain.addressOf(9),
    ])
    const accepted = await as(8, 'acceptRole', [treasury])
    expect(eventsOf(accepted, nodeRegistryAbi).map(({ name }) => name)).toEqual(['RoleTransferred'])
    expect((await holder()).toLowerCase()).toBe(next)
    expect(await revertOf(as(8, 'acceptRole', [treasury]))).toEqual([
      'RoleNotOffered',
      treasury,
      next,
    ])
  })

  it('never makes one address both coordinator and arbiter', async () => {
    await as(ARBITER, 'offerRole', [role('arbiter'), chain.addressOf(COORDINATOR)])
    expect(await revertOf(as(COORDINATOR, 'acceptRole', [role('arbiter')]))).toEqual([
      'InvalidHolder',
      role('arbiter'),
      chain.addressOf(COORDINATOR),
    ])
    await as(COORDINATOR, 'offerRole', [role('coordinator'), chain.addressOf(ARBITER)])
    expect(await revertOf(as(ARBITER, 'acceptRole', [role('coordinator')]))).toEqual([
      'InvalidHolder',
      role('coordinator'),
      chain.addressOf(ARBITER),
    ])
  })
})
