import type { LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hexToBytes } from 'viem/utils'
import { type Api, type ApiOptions, createApi } from '../lib/api.ts'
import { Address } from '../lib/codecs.ts'
import { readKeystore } from '../lib/host/keystore.ts'
import { askPassword, type Terminal } from '../lib/host/password.ts'
import { type ReadingKey, readingKeyOf } from '../lib/sealing/reading-key.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { LoadedConfig } from './config-file.ts'
import type { Environment } from './environment.ts'

/** The node's chain wallet (spec 5). */
export type Wallet = {
  readonly account: LocalAccount
  readonly address: Address
  /** Opens what clients wrap for this wallet. */
  readonly readingKey: ReadingKey
}

const typedTries = 3

/** Makes a client of the ICL that signs with the wallet. */
export const walletApi = (
  context: Omit<ApiOptions, 'baseUrl' | 'signer'>,
  { account, address }: Pick<Wallet, 'account' | 'address'>,
  { icl, chainId }: { readonly icl: string; readonly chainId: number },
): Api =>
  createApi({
    ...context,
    baseUrl: icl,
    signer: {
      kind: 'wallet',
      address,
      chainId,
      signMessage: (message) => account.signMessage({ message }),
    },
  })

/** The wallet of a private key. */
async function walletOf(privateKey: `0x${string}`): Promise<Wallet> {
  const account = privateKeyToAccount(privateKey)
  const readingKey = await readingKeyOf(hexToBytes(privateKey))
  return { account, address: Address.parse(account.address), readingKey }
}

type WalletContext = {
  readonly environment: Environment
  readonly terminal: Terminal
  readonly warn: (line: string) => void
}

/** Opens the keystore with the password from the environment, or from the terminal, with three tries there. */
export async function openWallet(
  { keystorePath }: Pick<LoadedConfig, 'keystorePath'>,
  { environment, terminal, warn }: WalletContext,
): Promise<Wallet> {
  const isTyped = !environment.SVC_KEY_PASSWORD && !environment.SVC_KEY_PASSWORD_FILE
  for (let tries = 1; ; tries++) {
    const password = await askPassword(environment, terminal)
    try {
      return await walletOf(await readKeystore(keystorePath, password, warn))
    } catch (error) {
      const isWrong = error instanceof SvcError && error.code === 'keystore-password-wrong'
      if (!isWrong || !isTyped) throw error
      if (tries === typedTries) {
        const hint = 'If it is the right one, restore the keystore from a backup.'
        throw new SvcError(error.code, error.message, { hint })
      }
      terminal.output.write('This password does not open the keystore. Type it again.\n')
    }
  }
}
