import { type Hex, isHex, type LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { Address } from '../lib/codecs.ts'
import { errorMessage } from '../lib/error-message.ts'
import { readKeystore } from '../lib/host/keystore.ts'
import { SvcError } from '../lib/svc-error.ts'
import type { DeployCommand } from './deploy-options.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the deployer. A dry run needs no key. Throws SvcError `deployer-missing` or `deployer-invalid`, without secrets in it. */
export async function openDeployer(
  command: Pick<DeployCommand, 'keystore' | 'deployer' | 'isDryRun'>,
  environment: Environment,
  warn: (line: string) => void,
): Promise<{ readonly address: Address; readonly account: LocalAccount | undefined }> {
  const account = await accountOf(command, environment, warn)
  const named = command.deployer
  if (account === undefined) {
    if (named !== undefined && command.isDryRun) return { address: named, account: undefined }
    throw new SvcError('deployer-missing', 'there is no key to deploy with', {
      hint: 'Set SVC_DEPLOYER_KEY, or give --keystore FILE and set SVC_DEPLOYER_PASSWORD. For a dry run --deployer ADDRESS is enough.',
    })
  }
  const address = Address.parse(account.address)
  if (named !== undefined && named !== address) {
    throw invalid(`the key is that of ${address}, and not of ${named}`)
  }
  return { address, account }
}

async function accountOf(
  { keystore }: Pick<DeployCommand, 'keystore'>,
  { SVC_DEPLOYER_KEY: key, SVC_DEPLOYER_PASSWORD: password }: Environment,
  warn: (line: string) => void,
): Promise<LocalAccount | undefined> {
  if (keystore !== undefined) return await fromKeystore(keystore, password, warn)
  if (!key) return undefined
  const text = `0x${key.trim().replace(/^0x/, '')}`
  const account = isHex(text) && text.length === 66 ? tryAccount(text) : undefined
  if (account === undefined) throw invalid('SVC_DEPLOYER_KEY is no private key')
  return account
}

async function fromKeystore(
  path: string,
  password: string | undefined,
  warn: (line: string) => void,
): Promise<LocalAccount> {
  if (!password) throw invalid('SVC_DEPLOYER_PASSWORD, which opens the keystore, is not set')
  const key = await readKeystore(path, password, warn).catch((error: unknown) => {
    throw invalid(errorMessage(error))
  })
  return privateKeyToAccount(key)
}

// The library's own errors show the key that they refuse.
const tryAccount = (key: Hex): LocalAccount | undefined => {
  try {
    return privateKeyToAccount(key)
  } catch {
    return undefined
  }
}

const invalid = (what: string): SvcError =>
  new SvcError('deployer-invalid', what, {
    hint: 'Check SVC_DEPLOYER_KEY, --keystore and SVC_DEPLOYER_PASSWORD.',
  })
