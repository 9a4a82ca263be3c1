import { verifyMessage } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import {
  isWalletAccount,
  type WalletProvider,
  walletAccount,
} from '../../../lib/chain/wallet-account.ts'
import { SvcError } from '../../../lib/svc-error.ts'

const own = privateKeyToAccount(`0x${'2b'.repeat(32)}`)
const transaction = { chainId: 5, to: own.address, data: '0x01', gas: 21_000n, value: 0n } as const

type Call = { readonly method: string; readonly params?: readonly unknown[] }

/** A wallet that holds one key; `answer` decides first. */
function wallet(answer: (call: Call) => unknown = () => undefined) {
  const calls: Call[] = []
  let chainId = 1
  const provider: WalletProvider = {
    request: async (call) => {
      calls.push(call)
      const given = answer(call)
      if (given !== undefined) return given
      if (call.method === 'eth_chainId') return `0x${chainId.toString(16)}`
      if (call.method === 'wallet_switchEthereumChain') {
        chainId = Number(Object(call.params?.[0]).chainId)
        return null
      }
      if (call.method === 'personal_sign') {
        return await own.signMessage({ message: { raw: call.params?.[0] as `0x${string}` } })
      }
      if (call.method === 'eth_sendTransaction') return `0x${'ab'.repeat(32)}`
      throw Object.assign(new Error(`no ${call.method}`), { code: -32601 })
    },
  }
  return { account: walletAccount(provider, own.address), calls }
}

const refuse = (method: string, code: number) =>
  wallet((call) => {
    if (call.method === method) throw Object.assign(new Error('User says no.'), { code })
  })

const errorOf = async (work: Promise<unknown>): Promise<SvcError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof SvcError) return error
  throw new Error(`Expected a SvcError, got ${error}`)
}

describe('an account in a wallet', () => {
  it('signs requests as the key itself would', async () => {
    const { account } = wallet()
    expect(isWalletAccount(account)).toBe(true)
    expect(isWalletAccount(own)).toBe(false)
    const message = { raw: '0x0102ff' as const }
    const signature = await account.signMessage({ message })
    expect(await verifyMessage({ address: own.address, message, signature })).toBe(true)
  })

  it('sends transactions on the chain that was asked for, to which the wallet goes over first', async () => {
    const { account, calls } = wallet()
    expect(await account.send(transaction)).toBe(`0x${'ab'.repeat(32)}`)
    const methods = calls.map(({ method }) => method)
    expect(methods.indexOf('wallet_switchEthereumChain')).toBeGreaterThan(-1)
    expect(methods.at(-1)).toBe('eth_sendTransaction')
    expect(calls.at(-1)?.params).toEqual([
      {
        from: own.address.toLowerCase(),
        to: own.address,
        data: '0x01',
        gas: '0x5208',
        value: '0x0',
      },
    ])
  })

  it('sends nothing on another chain', async () => {
    const { account, calls } = refuse('wallet_switchEthereumChain', 4001)
    const error = await errorOf(account.send(transaction))
    expect(error.code).toBe('wallet-chain-wrong')
    expect(error.hint).toContain('chain 5')
    expect(calls.some(({ method }) => method === 'eth_sendTransaction')).toBe(false)
  })

  const refusals: readonly [string, number, string][] = [
    ['personal_sign', 4001, 'wallet-refused'],
    ['personal_sign', 4100, 'wallet-not-connected'],
    ['personal_sign', -32000, 'wallet-failed'],
  ]
  for (const [method, code, expected] of refusals) {
    it(`says ${expected} for ${code}, and asks the user once`, async () => {
      const { account, calls } = refuse(method, code)
      const error = await errorOf(account.signMessage({ message: { raw: '0x00' } }))
      expect(error.code).toBe(expected)
      expect(error.retryable).toBe(false)
      expect(calls.length).toBe(1)
    })
  }

  it('takes a chain id that is a number', async () => {
    const { account } = wallet(({ method }) => (method === 'eth_chainId' ? 5 : undefined))
    expect(await account.send(transaction)).toBe(`0x${'ab'.repeat(32)}`)
  })

  const contractSignature = `0x${'6492'.repeat(200)}`
  const lies: readonly [string, unknown, string][] = [
    ['eth_chainId', 'mainnet', 'tell its chain'],
    ['eth_sendTransaction', '0x', 'send a transaction'],
    ['personal_sign', null, own.address.toLowerCase()],
    ['personal_sign', contractSignature, own.address.toLowerCase()],
    ['personal_sign', `0x${'11'.repeat(64)}1b`, own.address.toLowerCase()],
  ]
  for (const [method, lie, named] of lies) {
    it(`blames the wallet for ${String(lie).slice(0, 9)} as its answer to ${method}`, async () => {
      const { account } = wallet((call) => (call.method === method ? lie : undefined))
      const work: Promise<unknown> =
        method === 'personal_sign'
          ? account.signMessage({ message: { raw: '0x00' } })
          : account.send(transaction)
      const error = await errorOf(work)
      expect(error.code).toBe('wallet-failed')
      expect(error.message).toContain(named)
    })
  }

  it('never signs a transaction without sending it', async () => {
    const { account } = wallet()
    expect((await errorOf(account.signTransaction({ type: 'eip1559', chainId: 5 }))).code).toBe(
      'wallet-failed',
    )
  })
})
