import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hashTypedData, hexToBytes, type LocalAccount, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { type WalletProvider, walletAccount } from '../../../lib/chain/wallet-account.ts'
import { createOwnSecret } from '../../../lib/client/own-secret.ts'
import { systemRandom } from '../../../lib/system.ts'

const key = `0x${'61'.repeat(32)}` as const
const local = privateKeyToAccount(key)
const icl = { origin: 'https://icl.test', chainId: 31_337 }
const create = (
  account: LocalAccount,
  changes: Partial<Parameters<typeof createOwnSecret>[0]> = {},
) => createOwnSecret({ account, icl, random: systemRandom, ...changes })

type Sign = (typed: Parameters<typeof local.signTypedData>[0], time: number) => Promise<unknown>

/** A wallet that signs as told, with the number of times that it was asked. */
function walletOf(sign: Sign) {
  const asked: unknown[] = []
  const provider: WalletProvider = {
    request: ({ method, params = [] }) => {
      if (method !== 'eth_signTypedData_v4') throw new Error(method)
      return sign(JSON.parse(String(params[1])), asked.push(params))
    },
  }
  return { account: walletAccount(provider, local.address), asked }
}

/** Another valid signature each time: not every wallet signs as RFC 6979 says. */
const another: Sign = async (typed) => {
  const options = { extraEntropy: true, prehash: false, format: 'recovered' } as const
  const made = secp256k1.sign(hexToBytes(hashTypedData(typed)), hexToBytes(key), options)
  return toHex(Uint8Array.of(...made.slice(1), 27 + (made[0] ?? 0)))
}

describe('the secret of a client', () => {
  it('is the same for an account and its wallet, and for each client of theirs, but for another ICL or chain', async () => {
    const own = await create(local)()
    const { account, asked } = walletOf((typed) => local.signTypedData(typed))
    expect(await create(account)()).toEqual(own)
    expect(own.reopens).toBe(true)
    expect(asked).toHaveLength(2)
    const elsewhere = [
      { ...icl, origin: 'https://icl2.test' },
      { ...icl, chainId: 1 },
    ]
    for (const other of elsewhere) {
      expect((await create(local, { icl: other })()).bytes).not.toEqual(own.bytes)
    }
  })

  it('asks a wallet once, for all that run at the same time, when it is known to give the same', async () => {
    let kept: string | undefined
    const memory = {
      read: () => kept,
      write: (check: string) => {
        kept = check
      },
    }
    const { account, asked } = walletOf((typed) => local.signTypedData(typed))
    const first = await create(account, { memory })()
    expect(asked).toHaveLength(2)
    const again = create(account, { memory })
    expect(await Promise.all([again(), again()])).toEqual([first, first])
    expect(asked).toHaveLength(3)
    expect(kept).not.toContain(Buffer.from(first.bytes).toString('base64url'))
  })

  it('is asked for twice of any account, since one over a key service may sign differently', async () => {
    const signTypedData = async (typed: unknown) =>
      (await another(typed as never, 0)) as `0x${string}`
    const service = { ...local, signTypedData } as LocalAccount
    expect((await create(service)()).reopens).toBe(false)
  })

  it('is random, and said not to come again, where a wallet signs differently or its user declines', async () => {
    const declined: Sign = async () => {
      throw Object.assign(new Error('no'), { code: 4001 })
    }
    for (const sign of [another, declined]) {
      const { account } = walletOf(sign)
      const [one, two] = [await create(account)(), await create(account)()]
      expect([one.reopens, two.reopens]).toEqual([false, false])
      expect(one.bytes).not.toEqual(two.bytes)
    }
  })

  it('is asked for again after a wallet that failed', async () => {
    const { account } = walletOf(async (typed, time) => {
      if (time === 1) throw new Error('locked')
      return local.signTypedData(typed)
    })
    const secret = create(account)
    await expect(secret()).rejects.toMatchObject({ code: 'wallet-failed' })
    expect((await secret()).reopens).toBe(true)
  })
})
