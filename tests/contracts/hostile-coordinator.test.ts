import { pad, toHex } from 'viem'
import { afterAll, expect, it } from 'vitest'
import { ACTIVATOR, createListedKeys, IDLE, jobId, NODES } from './listed-keys.ts'
import { createRegistryCalls } from './node-registry-calls.ts'
import { createKeyActions } from './stored-keys.ts'
import { DAY_S, MIN_STAKE, read, revertOf, startTestChain } from './test-chain.ts'

const COORDINATOR = 1
const OPERATOR = 4

let faults = 0
const chain = await startTestChain()
afterAll(() => chain.stop())

const { call, as } = createRegistryCalls(() => chain)
const word = (value: number) => pad(toHex(value), { size: 32 })
/** Accuses the operator of a fault that nobody committed, with evidence that does not exist. */
const accuse = async () => {
  faults += 1
  const fault = word(faults)
  await as(COORDINATOR, 'proposeSlash', [fault, chain.addressOf(OPERATOR), 2n ** 200n, word(7)])
  return fault
}
const stakeOf = async (index: number) =>
  (await read<{ stake: bigint }>(chain, call('nodeOf', [chain.addressOf(index)]))).stake

it('a coordinator whose arbiter sleeps takes a whole stake in three days, with evidence that does not exist', async () => {
  await as(OPERATOR, 'register', [[0]], MIN_STAKE)
  const fault = await accuse()
  await as(OPERATOR, 'answer', [fault, word(8)])
  expect((await revertOf(as(COORDINATOR, 'executeSlash', [fault])))[0]).toBe('TooEarly')
  await chain.increaseTime(3 * DAY_S)
  await as(COORDINATOR, 'executeSlash', [fault])
  expect(await stakeOf(OPERATOR)).toBe(0n)
})

it('it takes nothing of a node that has left for seven days, and holds no stake for more than ten', async () => {
  await as(OPERATOR, 'addStake', [], MIN_STAKE)
  await as(OPERATOR, 'beginUnbonding')
  await chain.increaseTime(7 * DAY_S - 60)
  const late = await accuse()
  await chain.increaseTime(60)
  expect((await revertOf(accuse()))[0]).toBe('UnbondingOver')
  expect(await revertOf(as(OPERATOR, 'withdraw'))).toEqual(['StakeFrozen', 1])
  await chain.increaseTime(3 * DAY_S)
  await as(OPERATOR, 'executeSlash', [late])
  await as(OPERATOR, 'withdraw')
  expect(await stakeOf(OPERATOR)).toBe(0n)
})

it('it reads no key: it can only let nodes of the list in, that its client chose as activator', async () => {
  const keys = createKeyActions(chain)
  for (const index of [...NODES, COORDINATOR]) await keys.registerNode(index)
  const key = await createListedKeys(chain, keys).commit(1)
  const args = [key.high, key.low, jobId, key.list, key.until, 1]
  expect((await revertOf(keys.as(COORDINATOR, 'activate', args)))[0]).toBe('WrongList')
  await keys.as(ACTIVATOR, 'activate', args)
  for (const half of [key.high, key.low]) {
    for (const index of [COORDINATOR, ACTIVATOR, IDLE]) {
      expect(await keys.mayRead(half, index)).toBe(false)
    }
    expect(await keys.mayRead(half, NODES[1])).toBe(true)
  }
})
