import {
  createClient,
  custom,
  type Hex,
  hashMessage,
  hashTypedData,
  hexToBytes,
  isHex,
  type LocalAccount,
  numberToHex,
} from 'viem'
import { toAccount } from 'viem/accounts'
import { signMessage, signTypedData } from 'viem/actions'
import { z } from 'zod'
import { Address, Hash32 } from '../codecs.ts'
import { SvcError } from '../svc-error.ts'
import { isSignedByWallet } from '../wallet-signature.ts'
import { causesOf } from './chain-error.ts'

/** A browser's wallet (EIP-1193). */
export type WalletProvider = {
  readonly request: (call: {
    readonly method: string
    readonly params?: readonly unknown[]
  }) => Promise<unknown>
}

/** An account whose key stays in a wallet: the wallet signs, and sends transactions itself. */
export type WalletAccount = LocalAccount & {
  /** Has the wallet send a transaction and returns its hash; throws as `useChain` does. */
  readonly send: (transaction: {
    readonly chainId: number
    readonly to: Hex
    readonly data: Hex
    readonly gas: bigint
    readonly value: bigint
  }) => Promise<Hex>
  /** Has the wallet switch to a chain if it is not there; throws SvcError `wallet-chain-wrong`, `wallet-refused` or `wallet-failed`. */
  readonly useChain: (chainId: number) => Promise<void>
}

/** True for an account whose key is in a wallet. */
export const isWalletAccount = (account: LocalAccount): account is WalletAccount =>
  'useChain' in account && 'send' in account

// Hex, but some wallets tell a number.
const ChainId = z.coerce.number().int().positive()
const userRejected = 4001
const notAuthorized = 4100

/** Makes the account of `address` in a wallet. The wallet makes each signature and transaction, and may ask its user. */
export function walletAccount(provider: WalletProvider, address: string): WalletAccount {
  const own = Address.parse(address)
  // A retry would show the user the same question again.
  const transport = custom(provider as Parameters<typeof custom>[0], { retryCount: 0 })
  const wallet = createClient({ account: own, transport })
  const account = toAccount({
    address: own,
    signMessage: ({ message }) =>
      signed(signMessage(wallet, { message }), hashMessage(message), 'sign a request'),
    // viem passes the caller's types through.
    signTypedData: (typed) =>
      signed(signTypedData(wallet, typed as never), hashTypedData(typed), 'sign a permit'),
    signTransaction: async () => {
      throw failed('sign a transaction without sending it', new Error('wallets send it themselves'))
    },
  })
  const signed = async (work: Promise<Hex>, hash: Hex, toDo: string): Promise<Hex> => {
    const given = await asked(work, toDo)
    if (isHex(given) && (await isSignedByWallet(own, hash, hexToBytes(given)))) return given
    throw new SvcError('wallet-failed', `The wallet gave no signature of ${own}`, {
      hint: 'Choose that account in the wallet. An account that is a contract cannot be used.',
    })
  }
  const given = async <T>(
    call: Parameters<typeof provider.request>[0],
    type: z.ZodType<T>,
    toDo: string,
  ) => {
    const answer = type.safeParse(await asked(provider.request(call), toDo))
    if (answer.success) return answer.data
    throw failed(toDo, new Error('its answer makes no sense'))
  }
  const chainId = () => given({ method: 'eth_chainId' }, ChainId, 'tell its chain')
  const useChain = async (wanted: number): Promise<void> => {
    if ((await chainId()) === wanted) return
    const params = [{ chainId: numberToHex(wanted) }]
    const method = 'wallet_switchEthereumChain'
    const refusal = await provider.request({ method, params }).then(
      () => undefined,
      (error: unknown) => error,
    )
    const found = await chainId()
    if (found === wanted) return
    throw new SvcError('wallet-chain-wrong', `The wallet is on chain ${found}, not ${wanted}`, {
      hint: `Add chain ${wanted} to the wallet if it does not know it, and choose it there.`,
      cause: refusal,
    })
  }
  return {
    ...account,
    useChain,
    send: async ({ chainId: wanted, to, data, gas, value }) => {
      await useChain(wanted)
      const transaction = {
        from: own,
        to,
        data,
        gas: numberToHex(gas),
        value: numberToHex(value),
      }
      const call = { method: 'eth_sendTransaction', params: [transaction] }
      return given(call, Hash32, 'send a transaction')
    },
  }
}

async function asked<T>(work: Promise<T>, toDo: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw failed(toDo, error)
  }
}

function failed(toDo: string, error: unknown): SvcError {
  const codes = causesOf(error).map((cause) =>
    typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined,
  )
  if (codes.includes(userRejected)) {
    return new SvcError('wallet-refused', `The wallet was asked to ${toDo}, and declined`, {
      hint: 'Try again and approve it in the wallet.',
      cause: error,
    })
  }
  if (codes.includes(notAuthorized)) {
    return new SvcError(
      'wallet-not-connected',
      'The wallet does not let this page use the account',
      {
        hint: 'Connect the account to this page in the wallet.',
        cause: error,
      },
    )
  }
  const { message } = z.object({ message: z.string() }).safeParse(error).data ?? {}
  const why = (message ?? String(error)).split('\n')[0]
  return new SvcError('wallet-failed', `The wallet could not ${toDo}: ${why}`, {
    hint: 'Unlock the wallet, check its network and balance, and try again.',
    cause: error,
  })
}
