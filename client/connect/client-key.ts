import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readKeystore } from '../../lib/host/keystore.ts'
import { givenPassword } from '../../lib/host/password.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { readSecretFile } from './secret-file.ts'
import type { ClientSettings } from './settings.ts'

/** Reads the client's key, as hex or from a keystore; throws SvcError `client-key-(unreadable|exposed|invalid)`, `password-missing` or of the keystore. */
export async function readClientKey(
  settings: ClientSettings,
  warn: (line: string) => void,
): Promise<Hex> {
  const path = settings.SVC_CLIENT_KEY_FILE
  const text = (await readSecretFile(path, 'client-key', 'SVC_CLIENT_KEY_FILE')).trim()
  if (/^(0x)?[0-9a-fA-F]{64}$/.test(text)) {
    return checkedKey(path, `0x${text.replace(/^0x/, '').toLowerCase()}`)
  }
  if (!text.startsWith('{')) {
    throw new SvcError('client-key-invalid', `${path} holds neither a private key nor a keystore`, {
      hint: 'Name a file with 64 hex digits, or with a Web3 keystore (JSON), in SVC_CLIENT_KEY_FILE.',
    })
  }
  const { SVC_KEY_PASSWORD, SVC_KEY_PASSWORD_FILE } = settings
  const password = await givenPassword({ SVC_KEY_PASSWORD, SVC_KEY_PASSWORD_FILE }, warn)
  if (password === undefined) {
    throw new SvcError('password-missing', `the keystore ${path} needs a password`, {
      hint: 'Set SVC_KEY_PASSWORD, or SVC_KEY_PASSWORD_FILE to a file that holds it.',
    })
  }
  return await readKeystore(path, password, warn)
}

/** Returns the key if it is valid on the curve. The curve's own error would show the key. */
function checkedKey(path: string, key: Hex): Hex {
  try {
    privateKeyToAccount(key)
    return key
  } catch {
    throw new SvcError(
      'client-key-invalid',
      `${path} holds 64 hex digits that are no private key`,
      {
        hint: 'Name the file of a wallet in SVC_CLIENT_KEY_FILE.',
      },
    )
  }
}
