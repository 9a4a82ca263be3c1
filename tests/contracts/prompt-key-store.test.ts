import { keccak256, pad } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { isAllowed } from '../../lib/chain/task-manager.ts'
import { createKeyActions, NOBODY, storedHandle } from './stored-keys.ts'
import { eventsOf, revertOf, startTestChain } from './test-chain.ts'

const OWNER = 4
const THIEF = 5
const noTerms = pad('0x', { size: 32 })
const chain = await startTestChain()
const keys = createKeyActions(chain)
afterAll(() => chain.stop())

describe('storing a key', () => {
  it('makes one record that its owner and the contract may use, and nobody else', async () => {
    const { receipt, high, low } = await keys.storeAs(OWNER)
    const owner = chain.wallet(OWNER).walletClient.account.address
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'KeyStored', owner, highHandle: high, lowHandle: low, terms: noTerms },
    ])
    expect(await keys.ownerOf(high, low)).toBe(owner)
    for (const handle of [high, low]) {
      expect(await keys.mayRead(handle, OWNER)).toBe(true)
      expect(await isAllowed(chain.wallet(0), handle, chain.promptKeyStore)).toBe(true)
      expect(await keys.mayRead(handle, THIEF)).toBe(false)
    }
  })

  it('puts the hash of terms into the event', async () => {
    const terms = keccak256('0x01')
    const { receipt, high, low } = await keys.storeAs(OWNER, terms)
    const owner = chain.wallet(OWNER).walletClient.account.address
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'KeyStored', owner, highHandle: high, lowHandle: low, terms },
    ])
    expect(await keys.ownerOf(high, low)).toBe(owner)
    expect(await keys.listOf(high, low)).toEqual([noTerms, 0, false])
  })

  it('refuses inputs that another wallet encrypted, were tampered with, or are of another type', async () => {
    const { high, low } = await keys.encryptAs(OWNER)
    expect((await revertOf(keys.as(THIEF, 'storeKey', [high, low])))[0]).toBe('InvalidSigner')
    const forged = { ...high, ctHash: high.ctHash ^ (1n << 200n) }
    expect((await revertOf(keys.as(OWNER, 'storeKey', [forged, low])))[0]).toBe('InvalidSigner')
    const retyped = { ...high, utype: 5 }
    expect(await revertOf(keys.as(OWNER, 'storeKey', [retyped, low]))).toEqual([
      'InvalidEncryptedInput',
      5,
      6,
    ])
  })

  it('puts a handle in one record at most, for every sender and combination', async () => {
    const first = await keys.storeAs(OWNER)
    const second = await keys.storeAs(OWNER)
    const fresh = await keys.encryptAs(OWNER)
    const taken = (handle: bigint) => ['HandleTaken', handle]
    const { input, high, low } = first
    const again = (...args: readonly unknown[]) => revertOf(keys.as(OWNER, 'storeKey', args))
    expect(await again(input.high, input.low)).toEqual(taken(high))
    expect(await again(input.low, input.high)).toEqual(taken(low))
    expect(await again(fresh.high, input.low)).toEqual(taken(low))
    expect(await again(input.high, fresh.low)).toEqual(taken(high))
    expect(await again(fresh.high, fresh.high)).toEqual([
      'EqualHalves',
      storedHandle(fresh.high.ctHash),
    ])
    expect((await keys.ownerOf(high, low)).toLowerCase()).toBe(chain.addressOf(OWNER))
    for (const [one, two] of [
      [low, high],
      [high, second.low],
      [high, 0n],
      [0n, 0n],
    ] as const) {
      expect(await keys.ownerOf(one, two)).toBe(NOBODY)
    }
  })
})
