import type { Hex, LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { Address } from '../lib/codecs.ts'
import { errorMessage } from '../lib/error-message.ts'
import { readKeystore } from '../lib/host/keystore.ts'
import { SvcError } from '../lib/svc-error.ts'

type Host = {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly warn: (line: string) => void
}

/** Returns the deployer. A dry run that names it needs no key. Throws SvcError `deployer-missing` or `deployer-invalid`, without secrets in it. */
export async function openDeployer(
  {
    keystore,
    deployer: named,
    dryRun,
  }: {
    readonly keystore?: string | undefined
    readonly deployer?: Address | undefined
    readonly dryRun: boolean
  },
  host: Host,
): Promise<{ readonly address: Address; readonly account: LocalAccount | undefined }> {
  const account = await (keystore === undefined ? fromSetting(host) : fromFile(keystore, host))
  if (account === undefined) {
    if (named !== undefined && dryRun) return { address: named, account }
    throw new SvcError('deployer-missing', 'there is no key to deploy with', {
      hint: 'Set SVC_DEPLOYER_KEY, or give --keystore FILE and set SVC_DEPLOYER_PASSWORD. For a dry run --deployer ADDRESS is enough.',
    })
  }
  const address = Address.parse(account.address)
  if (named === undefined || named === address) return { address, account }
  throw invalid(`the key is that of ${address}, and not of ${named}`)
}

function fromSetting({ environment }: Host): LocalAccount | undefined {
  const key = environment.SVC_DEPLOYER_KEY?.trim().replace(/^0x/, '')
  if (!key) return undefined
  try {
    return privateKeyToAccount(`0x${key}` satisfies Hex)
  } catch {
    // The library's own error shows the key.
    throw invalid('SVC_DEPLOYER_KEY is no private key')
  }
}

async function fromFile(path: string, { environment, warn }: Host): Promise<LocalAccount> {
  const password = environment.SVC_DEPLOYER_PASSWORD
  if (!password) throw invalid('SVC_DEPLOYER_PASSWORD, which opens the keystore, is not set')
  const key = await readKeystore(path, password, warn).catch((error: unknown) => {
    throw invalid(errorMessage(error))
  })
  return privateKeyToAccount(key)
}

const invalid = (what: string): SvcError =>
  new SvcError('deployer-invalid', what, {
    hint: 'Check SVC_DEPLOYER_KEY, --keystore and SVC_DEPLOYER_PASSWORD.',
  })
