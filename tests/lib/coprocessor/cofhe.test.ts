import { permitStore } from '@cofhe/sdk/permits'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import { ownerOf, storeKey } from '../../../lib/chain/prompt-key-store.ts'
import { isAllowed } from '../../../lib/chain/task-manager.ts'
import { createCofheCoprocessor } from '../../../lib/coprocessor/cofhe.ts'
import type { EncryptNews } from '../../../lib/coprocessor/coprocessor.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash, anAddress } from '../../branded.ts'
import { letRead } from '../../contracts/let-read.ts'
import { startTestChain } from '../../contracts/test-chain.ts'

const OWNER = 4
const READER = 5
const STRANGER = 6
const HIGH = 0x00112233445566778899aabbccddeeffn
const LOW = 0xffeeddccbbaa99887766554433221100n
const terms = aHash(`0x${'7e'.repeat(32)}`)

const chain = await startTestChain()
afterAll(() => chain.stop())

const coprocessorOf = (index: number) => {
  const account = chain.anvil.accounts[index]
  if (account === undefined) throw new Error(`no account ${index}`)
  return createCofheCoprocessor({
    ...chain.anvil,
    account: privateKeyToAccount(account.privateKey),
    clock: systemClock,
  })
}
const storeFor = async (reader?: number) => {
  const input = await coprocessorOf(OWNER).encrypt(HIGH, LOW)
  const place = { ...chain.wallet(OWNER), contract: chain.promptKeyStore }
  const stored = await storeKey({ ...place, ...input, terms })
  if (reader !== undefined) await letRead({ ...place, ...stored }, chain.addressOf(reader))
  return { ...stored, input }
}

describe('a key through the coprocessor', () => {
  it('is stored, and decrypted by its owner and its readers', async () => {
    const { highHandle, lowHandle } = await storeFor(READER)
    for (const index of [OWNER, READER]) {
      const coprocessor = coprocessorOf(index)
      expect(await coprocessor.decrypt(highHandle)).toBe(HIGH)
      expect(await coprocessor.decrypt(lowHandle)).toBe(LOW)
    }
    const owner = (high: bigint, low: bigint) =>
      ownerOf(chain.wallet(0), chain.promptKeyStore, high, low)
    expect(await owner(highHandle, lowHandle)).toBe(anAddress(chain.addressOf(OWNER)))
    expect(await owner(lowHandle, highHandle)).toBe(undefined)
    expect(await isAllowed(chain.wallet(0), highHandle, chain.addressOf(READER))).toBe(true)
  })

  it('is denied to others until they are granted access', async () => {
    const { highHandle, lowHandle } = await storeFor()
    const stranger = coprocessorOf(STRANGER)
    await expect(stranger.decrypt(highHandle)).rejects.toMatchObject({
      code: 'coprocessor-access-denied',
      message: 'CoFHE decrypt failed: FHE decrypt denied (403)',
      retryable: false,
    })
    const contract = chain.promptKeyStore
    const key = { ...chain.wallet(OWNER), contract, highHandle, lowHandle }
    await letRead(key, chain.addressOf(STRANGER))
    expect(await stranger.decrypt(highHandle)).toBe(HIGH)
  })

  it('is denied under its original handle, even to its owner', async () => {
    const { input, highHandle } = await storeFor()
    expect(input.high.ctHash).not.toBe(highHandle)
    await expect(coprocessorOf(OWNER).decrypt(input.high.ctHash)).rejects.toMatchObject({
      code: 'coprocessor-access-denied',
    })
  })

  it('tells how far an encryption has come, once per step', async () => {
    const news: EncryptNews[] = []
    await coprocessorOf(OWNER).encrypt(1n, 2n, { onStep: (item) => news.push(item) })
    expect(news.map(({ step, phase }) => `${step} ${phase}`)).toEqual(
      ['prepare', 'prove', 'verify'].flatMap((step) => [`${step} start`, `${step} end`]),
    )
    // In mock mode nothing is proved.
    expect(news.filter(({ proofBytes }) => proofBytes !== undefined)).toEqual([])
  })

  it('is encrypted and stored 12 times in parallel, by one wallet and by several', async () => {
    const one = coprocessorOf(OWNER)
    const many = [5, 6, 7].map(coprocessorOf)
    const inputs = await Promise.all([
      ...Array.from({ length: 12 }, (_, index) => one.encrypt(BigInt(index), 99n)),
      ...many.flatMap((other) => [10n, 11n, 12n, 13n].map((value) => other.encrypt(value, 98n))),
    ])
    expect(new Set(inputs.map(({ high }) => high.ctHash)).size).toBe(24)
    const stored = await Promise.all(
      inputs
        .slice(0, 12)
        .map((input) =>
          storeKey({ ...chain.wallet(OWNER), contract: chain.promptKeyStore, ...input, terms }),
        ),
    )
    const values = await Promise.all(stored.map(({ highHandle }) => one.decrypt(highHandle)))
    expect(values).toEqual(Array.from({ length: 12 }, (_, index) => BigInt(index)))
  })

  it('leaves no permit in the store that the SDK would write to disk', async () => {
    const { highHandle } = await storeFor()
    await coprocessorOf(OWNER).decrypt(highHandle)
    expect(permitStore.store.getState().permits).toEqual({})
  })
})

describe('a key that cannot be stored', () => {
  it('says which contract error it met', async () => {
    const { input } = await storeFor()
    const contract = chain.promptKeyStore
    await expect(
      storeKey({ ...chain.wallet(STRANGER), contract, ...input, terms }),
    ).rejects.toMatchObject({
      code: 'store-key-reverted',
      message: 'storeKey reverted: InvalidSigner',
      hint: 'Only the wallet that encrypted the halves can store them.',
    })
    await expect(
      storeKey({ ...chain.wallet(OWNER), contract, ...input, terms }),
    ).rejects.toMatchObject({
      message: 'storeKey reverted: HandleTaken',
    })
  })

  it('points at a wrong contract address', async () => {
    const input = await coprocessorOf(OWNER).encrypt(HIGH, LOW)
    for (const contract of [chain.resultRegistry, chain.addressOf(9)]) {
      await expect(
        storeKey({ ...chain.wallet(OWNER), contract, ...input, terms }),
      ).rejects.toMatchObject({
        code: 'store-key-reverted',
        hint: expect.stringContaining('PromptKeyStore address'),
      })
    }
  })

  it('asks for gas money when the wallet has none', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const options = { ...chain.anvil, account }
    const input = await createCofheCoprocessor({ ...options, clock: systemClock }).encrypt(1n, 2n)
    const writer = createChainWriter(options)
    const contract = chain.promptKeyStore
    await expect(storeKey({ ...writer, contract, ...input, terms })).rejects.toMatchObject({
      code: 'chain-wallet-empty',
      hint: `Send gas money to ${account.address.toLowerCase()}.`,
    })
  })

  it('can be given up', async () => {
    const input = await coprocessorOf(OWNER).encrypt(HIGH, LOW)
    const signal = AbortSignal.abort(new Error('given up'))
    const contract = chain.promptKeyStore
    await expect(
      storeKey({ ...chain.wallet(OWNER), contract, ...input, terms, signal }),
    ).rejects.toThrow('given up')
  })
})
