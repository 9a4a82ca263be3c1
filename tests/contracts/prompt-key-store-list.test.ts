import { type Hex, keccak256, pad } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import {
  ACTIVATOR,
  createListedKeys,
  IDLE,
  jobId,
  type ListedKey,
  NODES,
  OWNER,
  STRANGER,
} from './listed-keys.ts'
import { createKeyActions, NOBODY } from './stored-keys.ts'
import { DAY_S, eventsOf, revertOf, startTestChain } from './test-chain.ts'

const noCommitment = pad('0x', { size: 32 })

const chain = await startTestChain()
const keys = createKeyActions(chain)
const listed = createListedKeys(chain, keys)
for (const index of [...NODES, STRANGER]) await keys.registerNode(index)
afterAll(() => chain.stop())

const nodeAt = (position: 0 | 1 | 2) => NODES[position]
const walletOf = (index: number) => chain.wallet(index).walletClient.account.address
const activate = (index: number, key: ListedKey, position: number) =>
  keys.as(index, 'activate', [key.high, key.low, jobId, key.list, key.until, position])
const readersOf = async ({ high, low }: Pick<ListedKey, 'high' | 'low'>) => {
  const readers: number[] = []
  for (const index of [OWNER, ACTIVATOR, ...NODES, IDLE, STRANGER]) {
    const both = [await keys.mayRead(high, index), await keys.mayRead(low, index)]
    expect(both[0]).toBe(both[1])
    if (both[0]) readers.push(index)
  }
  return readers
}

describe('committing a list', () => {
  it('binds the key to job, activator, end and list, and gives the mask access', async () => {
    const { high, low, commitment, committed, until } = await listed.commit(0b0101)
    const by = walletOf(OWNER)
    const granted = [nodeAt(0), nodeAt(2)].map((index) => ({
      name: 'AccessGranted',
      highHandle: high,
      lowHandle: low,
      reader: walletOf(index),
      by,
    }))
    expect(eventsOf(committed, promptKeyStoreAbi)).toEqual([
      {
        name: 'ListCommitted',
        highHandle: high,
        lowHandle: low,
        jobId,
        commitment,
        mask: 0b0101,
        activator: walletOf(ACTIVATOR),
        until,
      },
      ...granted,
    ])
    expect(await keys.listOf(high, low)).toEqual([commitment, 0b0101, false])
    expect(await keys.listOf(high, high)).toEqual([noCommitment, 0, false])
    expect(await readersOf({ high, low })).toEqual([OWNER, nodeAt(0), nodeAt(2)])
  })

  it('is up to the owner, for a key of its own, once', async () => {
    const { high, low, list, until } = await listed.commit(1)
    const other = await keys.storeAs(OWNER)
    const commit = (index: number, one: bigint, two: bigint) => {
      const args = [one, two, jobId, list, 2, chain.addressOf(ACTIVATOR), until]
      return revertOf(keys.as(index, 'commitList', args))
    }
    expect(await commit(OWNER, high, low)).toEqual(['ListAlreadyCommitted', high])
    expect(await commit(nodeAt(0), high, low)).toEqual([
      'NotAuthorized',
      chain.addressOf(nodeAt(0)),
    ])
    for (const [one, two] of [
      [high, other.low],
      [low, high],
      [0n, 0n],
    ] as const) {
      expect(await commit(OWNER, one, two)).toEqual(['UnknownKey', one, two])
    }
  })

  it('refuses impossible lists, masks, activators and ends', async () => {
    const { high, low } = await keys.storeAs(OWNER)
    const { list, activator, until } = await listed.newTerms()
    const commit = (changes: {
      readonly list?: readonly Hex[]
      readonly mask?: number
      readonly activator?: Hex
      readonly until?: number
    }) => {
      const all = { list, mask: 1, activator, until, ...changes }
      const args = [high, low, jobId, all.list, all.mask, all.activator, BigInt(all.until)]
      return revertOf(keys.as(OWNER, 'commitList', args))
    }
    const many = (count: number) =>
      Array.from({ length: count }, (_, index): Hex => pad(`0x${index + 10}`, { size: 20 }))
    expect(await commit({ list: [] })).toEqual(['InvalidListLength', 0n])
    expect(await commit({ list: many(2) })).toEqual(['InvalidListLength', 2n])
    expect(await commit({ list: many(17) })).toEqual(['InvalidListLength', 17n])
    const owner = chain.addressOf(OWNER)
    const [first] = list
    for (const [position, wrong] of [
      [0, NOBODY],
      [2, NOBODY],
      [1, owner],
      [2, first],
      [3, first],
    ] as const) {
      const changed = list.map((node, index) => (index === position ? wrong! : node))
      expect(await commit({ list: changed })).toEqual(['InvalidListEntry', BigInt(position)])
    }
    for (const mask of [0, 0b1_0000, 0b1_0001, 0xffff]) {
      expect(await commit({ mask })).toEqual(['InvalidMask', mask])
    }
    expect(await commit({ activator: NOBODY })).toEqual(['InvalidActivator'])
    const now = await chain.now()
    expect(await commit({ until: now })).toEqual(['ListExpired', BigInt(now)])
    // The longest list, all of it.
    const all = [high, low, jobId, many(16), 0xffff, activator, BigInt(until)]
    await keys.as(OWNER, 'commitList', all)
    expect((await keys.listOf(high, low))[1]).toBe(0xffff)
  })
})

it('reading by a list makes no owner of a node', async () => {
  const { high, low } = await listed.commit(1)
  // Its record of the bare handles is no key.
  await keys.as(nodeAt(0), 'storeKey', [high, low])
  expect((await keys.ownerOf(high, low)).toLowerCase()).toBe(chain.addressOf(OWNER))
})

describe('activating', () => {
  it('gives one more active node of the list access, and repeats do nothing', async () => {
    const key = await listed.commit(1)
    const receipt = await activate(ACTIVATOR, key, 2)
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      {
        name: 'AccessGranted',
        highHandle: key.high,
        lowHandle: key.low,
        reader: walletOf(nodeAt(2)),
        by: walletOf(ACTIVATOR),
      },
    ])
    expect(await keys.listOf(key.high, key.low)).toEqual([key.commitment, 0b101, false])
    expect(await readersOf(key)).toEqual([OWNER, nodeAt(0), nodeAt(2)])
    expect((await activate(ACTIVATOR, key, 2)).logs).toEqual([])
    await keys.as(OWNER, 'endList', [key.high, key.low])
    await chain.increaseTime(2 * DAY_S)
    expect((await activate(ACTIVATOR, key, 0)).logs).toEqual([])
    expect(await keys.listOf(key.high, key.low)).toEqual([key.commitment, 0b101, true])
  })

  it('is up to the activator, and to no other reader or node', async () => {
    const key = await listed.commit(1)
    for (const index of [OWNER, nodeAt(0), nodeAt(1), STRANGER]) {
      expect(await revertOf(activate(index, key, 1))).toEqual(['WrongList', key.commitment])
    }
  })

  it('needs job, end and list as they were committed', async () => {
    const { high, low, list, until, commitment } = await listed.commit(1)
    const stranger = chain.addressOf(STRANGER)
    for (const [job, nodes, end] of [
      [keccak256('0x0b'), list, until],
      [jobId, [list[1], list[0], ...list.slice(2)], until],
      [jobId, [...list, stranger], until],
      [jobId, list.slice(0, 3), until],
      [jobId, [list[0], stranger, ...list.slice(2)], until],
      [jobId, list, until + 1n],
    ] as const) {
      const args = [high, low, job, nodes, end, 1]
      expect(await revertOf(keys.as(ACTIVATOR, 'activate', args))).toEqual([
        'WrongList',
        commitment,
      ])
    }
    const other = await keys.storeAs(OWNER)
    const pairs = [
      [high, other.low],
      [other.high, low],
      [low, high],
    ] as const
    for (const [one, two] of pairs) {
      const args = [one, two, jobId, list, until, 1]
      expect(await revertOf(keys.as(ACTIVATOR, 'activate', args))).toEqual(['UnknownKey', one, two])
    }
    const none = [other.high, other.low, jobId, list, until, 1]
    expect(await revertOf(keys.as(ACTIVATOR, 'activate', none))).toEqual([
      'WrongList',
      noCommitment,
    ])
  })

  it('needs an active node at a position of the list', async () => {
    const key = await listed.commit(1)
    expect(await revertOf(activate(ACTIVATOR, key, 3))).toEqual([
      'NodeNotActive',
      chain.addressOf(IDLE),
    ])
    for (const position of [4, 16, 255]) {
      expect(await revertOf(activate(ACTIVATOR, key, position))).toEqual(['NotOnList', position])
    }
    expect(await readersOf(key)).toEqual([OWNER, nodeAt(0)])
  })

  it('ends in time', async () => {
    const key = await listed.commit(1)
    await chain.increaseTime(DAY_S + 60)
    expect(await revertOf(activate(ACTIVATOR, key, 1))).toEqual(['ListExpired', key.until])
  })
})

describe('ending a list', () => {
  it('stops activations, for good, and leaves the commitment', async () => {
    const key = await listed.commit(1)
    const { high, low } = key
    for (const index of [ACTIVATOR, nodeAt(0)]) {
      expect(await revertOf(keys.as(index, 'endList', [high, low]))).toEqual([
        'NotAuthorized',
        chain.addressOf(index),
      ])
    }
    expect(await revertOf(keys.as(OWNER, 'endList', [low, high]))).toEqual([
      'UnknownKey',
      low,
      high,
    ])
    const receipt = await keys.as(OWNER, 'endList', [high, low])
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'ListEnded', highHandle: high, lowHandle: low },
    ])
    expect((await keys.as(OWNER, 'endList', [high, low])).logs).toEqual([])
    expect(await keys.listOf(high, low)).toEqual([key.commitment, 1, true])
    expect(await revertOf(activate(ACTIVATOR, key, 1))).toEqual(['ListHasEnded', high])
  })

  it('before there is one means that there will be none', async () => {
    const { high, low } = await keys.storeAs(OWNER)
    await keys.as(OWNER, 'endList', [high, low])
    expect(await keys.listOf(high, low)).toEqual([noCommitment, 0, true])
    const { list, activator, until } = await listed.newTerms()
    const args = [high, low, jobId, list, 1, activator, BigInt(until)]
    expect(await revertOf(keys.as(OWNER, 'commitList', args))).toEqual(['ListHasEnded', high])
  })
})
