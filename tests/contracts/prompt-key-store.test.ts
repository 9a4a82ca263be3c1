import { createTestClient, encodeAbiParameters, type Hex, http, keccak256, pad, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { isAllowed, taskManager } from '../../lib/chain/task-manager.ts'
import { createKeyActions, NOBODY, storedHandle } from './stored-keys.ts'
import { DAY_S, eventsOf, revertOf, startTestChain, type TestChain } from './test-chain.ts'

const OWNER = 4
const THIEF = 5
const DELEGATE = 6
const NODE = 7
const noTerms = pad('0x', { size: 32 })
let chain: TestChain
let keys: ReturnType<typeof createKeyActions>
beforeAll(async () => {
  chain = await startTestChain()
  keys = createKeyActions(chain)
  await keys.registerNode(NODE)
}, 60_000)
afterAll(() => chain.stop())

describe('storing a key', () => {
  it('makes one record that its owner and the contract may use, and nobody else', async () => {
    const { receipt, high, low } = await keys.storeAs(OWNER)
    const owner = chain.wallet(OWNER).walletClient.account.address
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'KeyStored', owner, highHandle: high, lowHandle: low, terms: noTerms },
    ])
    expect(await keys.recordOf(high, low)).toEqual([owner, NOBODY, 0, 0n])
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
    expect(await keys.recordOf(high, low)).toEqual([owner, NOBODY, 0, 0n])
    expect(await keys.listOf(high, low)).toEqual([noTerms, 0, false])
  })

  it('names readers and a delegate in the same transaction', async () => {
    const until = BigInt((await chain.now()) + 600)
    const readers = [8, 9].map((index) => chain.wallet(index).walletClient.account.address)
    const [owner, delegate] = [OWNER, DELEGATE].map(
      (index) => chain.wallet(index).walletClient.account.address,
    )
    const { receipt, high, low } = await keys.storeAs(OWNER, readers, delegate, 3, until)
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'KeyStored', owner, highHandle: high, lowHandle: low, terms: noTerms },
      ...readers.map((reader) => ({
        name: 'AccessGranted',
        highHandle: high,
        lowHandle: low,
        reader,
        by: owner,
      })),
      { name: 'AccessDelegated', highHandle: high, lowHandle: low, delegate, maxGrants: 3, until },
    ])
    expect(await keys.recordOf(high, low)).toEqual([owner ?? NOBODY, delegate ?? NOBODY, 3, until])
    expect(await keys.mayRead(low, 8)).toBe(true)
    expect(await keys.mayRead(high, 9)).toBe(true)
    expect(await keys.mayRead(high, DELEGATE)).toBe(false)
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

  it('puts a handle in one record at most, whoever asks and however it is combined', async () => {
    const first = await keys.storeAs(OWNER, [chain.addressOf(THIEF)], NOBODY, 0, 0n)
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
    // The thief may read the key, yet cannot make it its own.
    expect(await revertOf(keys.as(THIEF, 'storeKey', [high, low]))).toEqual(taken(high))
    expect((await keys.recordOf(high, low))[0].toLowerCase()).toBe(chain.addressOf(OWNER))
  })

  it('limits readers, and refuses impossible readers and delegations', async () => {
    const { high, low } = await keys.encryptAs(OWNER)
    const until = BigInt((await chain.now()) + 600)
    const refused = (...rest: readonly unknown[]) =>
      revertOf(keys.as(OWNER, 'storeKey', [high, low, ...rest]))
    const many = (count: number) => Array.from({ length: count }, () => chain.addressOf(8))
    expect(await refused(many(17), NOBODY, 0, 0n)).toEqual(['TooManyReaders', 17n])
    expect(await refused([NOBODY], NOBODY, 0, 0n)).toEqual(['InvalidReader'])
    const delegate = chain.addressOf(DELEGATE)
    expect(await refused([], delegate, 0, until)).toEqual(['InvalidDelegation'])
    expect(await refused([], delegate, 1, until - 601n)).toEqual(['InvalidDelegation'])
    expect(await refused([], NOBODY, 1, 0n)).toEqual(['InvalidDelegation'])
    expect(await refused([], NOBODY, 0, until)).toEqual(['InvalidDelegation'])
    await keys.as(OWNER, 'storeKey', [high, low, many(16), NOBODY, 0, 0n])
  })
})

describe('storing handles that the coprocessor has verified already', () => {
  const ALLOWED_SLOT = 1n
  const PUBLIC_SLOT = 2n
  const slotOf = (key: Hex, slot: Hex) =>
    keccak256(
      encodeAbiParameters(
        [{ type: 'bytes32' }, { type: 'bytes32' }],
        [pad(key, { size: 32 }), slot],
      ),
    )
  const word = (value: bigint) => toHex(value, { size: 32 })
  const setTrue = (index: Hex) =>
    createTestClient({ mode: 'anvil', transport: http(chain.anvil.rpcUrl) }).setStorageAt({
      address: taskManager,
      index,
      value: word(1n),
    })
  const allow = (handle: bigint, account: Hex) =>
    setTrue(slotOf(account, slotOf(word(handle), word(ALLOWED_SLOT))))

  it('works for a caller and handles that the access list allows', async () => {
    const [high, low] = [(71n << 16n) | 0x0600n, (72n << 16n) | 0x0600n]
    const store = () => revertOf(keys.as(OWNER, 'storeKey', [high, low]))
    expect(await store()).toEqual(['HandleNotAllowed', high, chain.addressOf(OWNER)])
    for (const handle of [high, low]) await allow(handle, chain.addressOf(OWNER))
    expect(await store()).toEqual(['HandleNotAllowed', high, chain.promptKeyStore])
    await allow(high, chain.promptKeyStore)
    expect(await store()).toEqual(['HandleNotAllowed', low, chain.promptKeyStore])
    await allow(low, chain.promptKeyStore)
    expect(await revertOf(keys.as(THIEF, 'storeKey', [high, low]))).toEqual([
      'HandleNotAllowed',
      high,
      chain.addressOf(THIEF),
    ])
    const receipt = await keys.as(OWNER, 'storeKey', [high, low])
    expect(eventsOf(receipt, promptKeyStoreAbi).map(({ name }) => name)).toEqual(['KeyStored'])
    expect(await store()).toEqual(['HandleTaken', high])
  })

  it('refuses handles of another type and handles that everybody may read', async () => {
    const bool = (73n << 16n) | 0x0000n
    expect(await revertOf(keys.as(OWNER, 'storeKey', [bool, 0n]))).toEqual(['InvalidHandle', bool])
    const open = (74n << 16n) | 0x0600n
    await setTrue(slotOf(word(open), word(PUBLIC_SLOT)))
    expect(await revertOf(keys.as(OWNER, 'storeKey', [open, open]))).toEqual([
      'InvalidHandle',
      open,
    ])
  })
})

describe('granting access', () => {
  const delegated = async (maxGrants = 2) => {
    const until = BigInt((await chain.now()) + DAY_S)
    return {
      ...(await keys.storeAs(OWNER, [], chain.addressOf(DELEGATE), maxGrants, until)),
      until,
    }
  }
  it('is up to the owner, for anybody, and to nobody else', async () => {
    const { high, low } = await keys.storeAs(OWNER)
    const other = await keys.storeAs(THIEF)
    const reader = chain.addressOf(8)
    expect(await revertOf(keys.as(THIEF, 'grantAccess', [high, low, reader]))).toEqual([
      'NotAuthorized',
      chain.addressOf(THIEF),
    ])
    for (const [one, two] of [
      [high, other.low],
      [other.high, low],
      [low, high],
      [high, 0n],
      [0n, 0n],
    ] as const) {
      for (const index of [OWNER, THIEF]) {
        expect(await revertOf(keys.as(index, 'grantAccess', [one, two, reader]))).toEqual([
          'UnknownKey',
          one,
          two,
        ])
      }
      expect((await keys.recordOf(one, two))[0]).toBe(NOBODY)
    }
    expect(await revertOf(keys.as(OWNER, 'grantAccess', [high, low, NOBODY]))).toEqual([
      'InvalidReader',
    ])
    const receipt = await keys.as(OWNER, 'grantAccess', [high, low, reader])
    const by = chain.wallet(OWNER).walletClient.account.address
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      {
        name: 'AccessGranted',
        highHandle: high,
        lowHandle: low,
        reader: chain.wallet(8).walletClient.account.address,
        by,
      },
    ])
    expect(await keys.mayRead(high, 8)).toBe(true)
    expect(await keys.mayRead(low, 8)).toBe(true)
    // A reader may read; it may not pass that on.
    expect((await revertOf(keys.as(8, 'grantAccess', [high, low, chain.addressOf(9)])))[0]).toBe(
      'NotAuthorized',
    )
  })

  it('by a delegate reaches active nodes only, within its number, and repeats cost nothing', async () => {
    const { high, low } = await delegated()
    const grant = (index: number) =>
      keys.as(DELEGATE, 'grantAccess', [high, low, chain.addressOf(index)])
    expect(await revertOf(grant(8))).toEqual(['NodeNotActive', chain.addressOf(8)])
    expect(await revertOf(grant(DELEGATE))).toEqual(['NodeNotActive', chain.addressOf(DELEGATE)])
    await grant(NODE)
    expect(await keys.mayRead(low, NODE)).toBe(true)
    expect((await keys.recordOf(high, low))[2]).toBe(1)
    expect((await grant(NODE)).logs).toEqual([])
    expect((await keys.recordOf(high, low))[2]).toBe(1)
    await keys.registerNode(8)
    await grant(8)
    await keys.registerNode(9)
    expect(await revertOf(grant(9))).toEqual(['NoGrantsLeft'])
    expect((await grant(8)).logs).toEqual([])
    await keys.as(OWNER, 'grantAccess', [high, low, chain.addressOf(9)])
    expect(await keys.mayRead(high, 9)).toBe(true)
  })

  it('by a delegate ends in time, and stops at nodes that have gone silent', async () => {
    const { high, low, until } = await delegated()
    const grant = () =>
      revertOf(keys.as(DELEGATE, 'grantAccess', [high, low, chain.addressOf(NODE)]))
    await chain.increaseTime(DAY_S + 60)
    expect(await grant()).toEqual(['DelegationExpired', until])
    await chain.increaseTime(11 * DAY_S)
    const later = await delegated()
    const args = [later.high, later.low, chain.addressOf(NODE)]
    expect(await revertOf(keys.as(DELEGATE, 'grantAccess', args))).toEqual([
      'NodeNotActive',
      chain.addressOf(NODE),
    ])
  })
})
