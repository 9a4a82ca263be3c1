import { keccak256, pad } from 'viem'
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
import { createKeyActions, storedHandle } from './stored-keys.ts'
import { DAY_S, eventsOf, revertOf, startTestChain } from './test-chain.ts'

const zero = pad('0x', { size: 32 })
const [LEADER, CHECKER, UNSEATED] = NODES

const chain = await startTestChain()
const keys = createKeyActions(chain)
const listed = createListedKeys(chain, keys)
for (const index of [...NODES, STRANGER]) await keys.registerNode(index)
afterAll(() => chain.stop())

const walletOf = (index: number) => chain.wallet(index).walletClient.account.address

type Changes = Partial<{
  prompt: bigint
  job: unknown
  activator: unknown
  until: bigint
  list: readonly unknown[]
}>
/** `index` stores an output key for a prompt key, as the node at position `self`. */
const storeOutput = async (
  index: number,
  key: ListedKey,
  self: number,
  mask: number,
  changes: Changes = {},
) => {
  const { high, low } = await keys.encryptAs(index)
  const { prompt, job, activator, until, list } = {
    ...{ prompt: key.high, job: jobId, activator: chain.addressOf(ACTIVATOR) },
    ...{ until: key.until, list: key.list },
    ...changes,
  }
  const args = [high, low, prompt, job, activator, until, list, self, mask]
  const receipt = await keys.as(index, 'storeKey', args)
  return { receipt, high: storedHandle(high.ctHash), low: storedHandle(low.ctHash) }
}

describe('storing an output key', () => {
  it('names the owner of the prompt key and the mask as readers, and nobody else', async () => {
    const prompt = await listed.commit(0b0011)
    const { receipt, high, low } = await storeOutput(LEADER, prompt, 0, 0b0010)
    const owner = walletOf(LEADER)
    const granted = [OWNER, CHECKER].map((index) => ({
      name: 'AccessGranted',
      highHandle: high,
      lowHandle: low,
      reader: walletOf(index),
      by: owner,
    }))
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'KeyStored', owner, highHandle: high, lowHandle: low, terms: zero },
      {
        name: 'OutputKeyStored',
        highHandle: high,
        promptHighHandle: prompt.high,
        jobId,
        self: 0,
        mask: 0b0010,
      },
      ...granted,
    ])
    expect(await keys.ownerOf(high, low)).toBe(owner)
    expect(await keys.listOf(high, low)).toEqual([zero, 0, false])
    for (const index of [OWNER, ACTIVATOR, ...NODES, IDLE, STRANGER]) {
      const reads = [OWNER, LEADER, CHECKER].includes(index)
      expect([index, await keys.mayRead(high, index)]).toEqual([index, reads])
      expect([index, await keys.mayRead(low, index)]).toEqual([index, reads])
    }
  })

  it('works after the list has ended and expired, and takes no notice of an own bit', async () => {
    const prompt = await listed.commit(0b0011)
    await keys.as(OWNER, 'endList', [prompt.high, prompt.low])
    await chain.increaseTime(DAY_S + 60)
    const { receipt } = await storeOutput(CHECKER, prompt, 1, 0b0011)
    const readers = eventsOf(receipt, promptKeyStoreAbi).flatMap((event) =>
      event.name === 'AccessGranted' ? [(event as { readonly reader?: unknown }).reader] : [],
    )
    expect(readers).toEqual([walletOf(OWNER), walletOf(LEADER)])
  })

  it('is for the node at its position', async () => {
    const prompt = await listed.commit(0b0011)
    for (const [index, self] of [
      [STRANGER, 0],
      [OWNER, 0],
      [LEADER, 1],
      [LEADER, 4],
      [LEADER, 255],
    ] as const) {
      expect(await revertOf(storeOutput(index, prompt, self, 0b0010))).toEqual(['NotOnList', self])
    }
  })

  it('is for nodes that have access to the prompt key, and gives such nodes access', async () => {
    const prompt = await listed.commit(0b0011)
    expect(await revertOf(storeOutput(UNSEATED, prompt, 2, 0b0011))).toEqual([
      'NotActivated',
      0b0100,
    ])
    for (const [mask, missing] of [
      [0b0110, 0b0100],
      [0b1010, 0b1000],
      [0xffff, 0xfffc],
    ] as const) {
      expect(await revertOf(storeOutput(LEADER, prompt, 0, mask))).toEqual([
        'NotActivated',
        missing,
      ])
    }
    const { high, low, list, until } = prompt
    await keys.as(ACTIVATOR, 'activate', [high, low, jobId, list, until, 2])
    await storeOutput(UNSEATED, prompt, 2, 0b0011)
  })

  it('needs prompt key, job, activator, end and list as they were committed', async () => {
    const prompt = await listed.commit(0b0111)
    const other = await keys.storeAs(OWNER)
    const { list, until, commitment } = prompt
    for (const changes of [
      { job: keccak256('0x0b') },
      { activator: chain.addressOf(STRANGER) },
      { until: until + 1n },
      { list: [list[0], list[2], list[1], list[3]] },
      { list: [list[0], chain.addressOf(STRANGER), list[2], list[3]] },
      { list: list.slice(0, 3) },
    ]) {
      expect(await revertOf(storeOutput(LEADER, prompt, 0, 0b0010, changes))).toEqual([
        'WrongList',
        commitment,
      ])
    }
    for (const handle of [other.high, prompt.low, 0n]) {
      const changes = { prompt: handle }
      expect(await revertOf(storeOutput(LEADER, prompt, 0, 0b0010, changes))).toEqual([
        'WrongList',
        zero,
      ])
    }
  })

  it('fixes its readers: no list, and no member of one', async () => {
    const prompt = await listed.commit(0b0011)
    const { high, low } = await storeOutput(LEADER, prompt, 0, 0b0010)
    const fixed = ['ReadersFixed', high]
    const { list, until } = prompt
    const nodes = list.slice(1)
    const commit = [high, low, jobId, nodes, 1, chain.addressOf(ACTIVATOR), until + 99_999n]
    expect(await revertOf(keys.as(LEADER, 'commitList', commit))).toEqual(fixed)
    expect(await revertOf(keys.as(LEADER, 'endList', [high, low]))).toEqual(fixed)
    const join = [high, low, jobId, list, until, 2]
    expect(await revertOf(keys.as(ACTIVATOR, 'activate', join))).toEqual(['WrongList', zero])
    // A node that joins the list later reads the prompt, and not what was written before.
    await keys.as(ACTIVATOR, 'activate', [prompt.high, prompt.low, jobId, list, until, 2])
    expect(await keys.mayRead(high, UNSEATED)).toBe(false)
  })
})
