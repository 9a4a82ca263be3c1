import { readFile, stat } from 'node:fs/promises'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { errorMessage } from '../../lib/error-message.ts'
import { readKeystore } from '../../lib/host/keystore.ts'
import { givenPassword } from '../../lib/host/password.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ClientSettings } from './settings.ts'

const maxFileBytes = 65_536

/**
 * The client's private key from its file: hex, or a Web3 keystore with the password of SVC_KEY_PASSWORD or SVC_KEY_PASSWORD_FILE.
 * Throws SvcError `client-key-unreadable`, `client-key-exposed`, `client-key-invalid`, `password-missing` or those of a keystore.
 */
export async function readClientKey(
  settings: ClientSettings,
  warn: (line: string) => void,
): Promise<Hex> {
  const path = settings.SVC_CLIENT_KEY_FILE
  const text = (await readKeyFile(path)).trim()
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
  return await readKeystore(path, password)
}

/** The key, unless it is a number that no key is: the curve's own complaint would show it. */
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

async function readKeyFile(path: string): Promise<string> {
  try {
    const { mode, size } = await stat(path)
    if (size > maxFileBytes) throw unreadable(path, 'it is too large for a key')
    // Who can read the key can spend what it holds.
    if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
      const octal = (mode & 0o777).toString(8).padStart(4, '0')
      throw new SvcError('client-key-exposed', `others may read ${path} (mode ${octal})`, {
        hint: `Run: chmod 600 ${path}`,
      })
    }
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof SvcError) throw error
    throw unreadable(path, errorMessage(error))
  }
}

const unreadable = (path: string, why: string): SvcError =>
  new SvcError('client-key-unreadable', `the key file ${path} cannot be used: ${why}`, {
    hint: 'Correct SVC_CLIENT_KEY_FILE, or the owner and the mode of the file.',
  })
