import type { Hex, LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { Address } from '../lib/codecs.ts'
import { readKeystore } from '../lib/host/keystore.ts'
import { askPassword } from '../lib/host/password.ts'
import type { CommandContext } from './commands/context.ts'
import type { LoadedConfig } from './config-file.ts'

/** The node's chain wallet (spec 5). */
export type Wallet = {
  readonly privateKey: Hex
  readonly account: LocalAccount
  readonly address: Address
}

/** Opens the keystore with the password from the environment or the terminal. */
export async function openWallet(
  { keystorePath }: Pick<LoadedConfig, 'keystorePath'>,
  { environment, terminal }: Pick<CommandContext, 'environment' | 'terminal'>,
): Promise<Wallet> {
  const privateKey = await readKeystore(keystorePath, await askPassword(environment, terminal))
  const account = privateKeyToAccount(privateKey)
  return { privateKey, account, address: Address.parse(account.address) }
}
