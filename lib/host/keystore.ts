import { scrypt } from 'node:crypto'
import { stat } from 'node:fs/promises'
import * as Keystore from 'ox/Keystore'
import { bytesToHex, type Hex, hexToBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { Address } from '../codecs.ts'
import { errorMessage } from '../error-message.ts'
import type { Random } from '../random.ts'
import { SvcError } from '../svc-error.ts'
import {
  exposedMode,
  exposureWarning,
  fileExists,
  readJson,
  writePrivateJson,
} from './private-files.ts'

/** The lowest accepted cost, for tests only. */
export const minScryptN = 4_096

const blockSize = 8
const hex = (bytes?: number) =>
  z
    .string()
    .regex(bytes === undefined ? /^([0-9a-fA-F]{2})+$/ : new RegExp(`^[0-9a-fA-F]{${2 * bytes}}$`))

const Web3SecretStorage = z.object({
  version: z.literal(3),
  id: z.string(),
  address: z.string().optional(),
  crypto: z.object({
    cipher: z.literal('aes-128-ctr'),
    cipherparams: z.object({ iv: hex(16) }),
    ciphertext: hex(32),
    mac: hex(32),
    kdf: z.literal('scrypt'),
    kdfparams: z.object({
      n: z
        .int()
        .min(2)
        .max(4_194_304)
        .refine((n) => Number.isInteger(Math.log2(n)), 'must be a power of two'),
      r: z.int().min(1).max(64),
      p: z.int().min(1).max(64),
      dklen: z.literal(32),
      salt: hex(),
    }),
  }),
})

type ScryptCost = { readonly n: number; readonly r: number; readonly p: number }

const deriveKey = (password: string, salt: Uint8Array, { n, r, p }: ScryptCost): Promise<Hex> =>
  new Promise((resolve, reject) => {
    const memory = 128 * n * r + 128 * r * p + 1_048_576
    scrypt(password, salt, 32, { N: n, r, p, maxmem: memory }, (error, key) =>
      error ? reject(error) : resolve(bytesToHex(new Uint8Array(key))),
    )
  })

/** Encrypts a wallet's private key with a password into a Web3 Secret Storage v3 file of mode 0600. Returns the wallet's address. */
export async function writeKeystore(
  path: string,
  wallet: { readonly privateKey: Hex; readonly password: string; readonly scryptN: number },
  random: Random,
): Promise<Address> {
  const cost = { n: wallet.scryptN, r: blockSize, p: 1 }
  const salt = random.bytes(32)
  const key = await deriveKey(wallet.password, salt, cost)
  const sealed = Keystore.encrypt(wallet.privateKey, key, {
    kdf: 'scrypt',
    kdfparams: { ...cost, dklen: 32, salt: bytesToHex(salt).slice(2) },
    iv: random.bytes(16),
  })
  const address = Address.parse(privateKeyToAccount(wallet.privateKey).address)
  await writePrivateJson(path, { ...sealed, address: address.slice(2) })
  return address
}

/** Reads the address that a keystore names, if it does, without its password; throws `keystore-missing` or `keystore-invalid`. */
export async function keystoreAddress(path: string): Promise<Address | undefined> {
  const { address } = await readSealed(path)
  return address === undefined ? undefined : addressOf(address)
}

/** The address that a keystore names; throws as `keystoreAddress` does, and SvcError `keystore-invalid` when it names none. */
export async function namedAddress(path: string): Promise<Address> {
  const address = await keystoreAddress(path)
  if (address !== undefined) return address
  throw new SvcError('keystore-invalid', `${path} names no address`, {
    hint: 'Add its "address" field, or make the keystore anew with SVC_IMPORT_PRIVATE_KEY.',
  })
}

/**
 * Opens a keystore and returns the private key. Warns when others may read the file. Throws SvcError `keystore-missing`,
 * `keystore-invalid` or `keystore-password-wrong`.
 */
export async function readKeystore(
  path: string,
  password: string,
  warn: (line: string) => void,
): Promise<Hex> {
  const keystore = await readSealed(path)
  const privateKey = await openedBy(path, keystore, password)
  if (privateKey === undefined) throw passwordWrong(path, password)
  checkNamed(path, keystore.address, privateKey)
  const exposed = exposedMode(await stat(path))
  if (exposed !== undefined) warn(exposureWarning(path, exposed))
  return privateKey
}

/** Tries a password as it is, then in the other normal forms: a Mac may have written its letters in parts. */
async function openedBy(
  path: string,
  keystore: z.output<typeof Web3SecretStorage>,
  password: string,
): Promise<Hex | undefined> {
  const { kdfparams } = keystore.crypto
  const salt = hexToBytes(`0x${kdfparams.salt}`)
  // The native scrypt refuses costs beyond RFC 7914, which some wallets use.
  const isNative = Math.log2(kdfparams.n) < 16 * kdfparams.r
  for (const form of new Set([password, password.normalize('NFC'), password.normalize('NFD')])) {
    const key = await (isNative
      ? deriveKey(form, salt, kdfparams)
      : Keystore.toKeyAsync(keystore, { password: form })
    ).catch((error: unknown) => {
      throw unaffordable(path, error)
    })
    const privateKey = decrypted(keystore, key)
    if (privateKey !== undefined) return privateKey
  }
  return undefined
}

function passwordWrong(path: string, password: string): SvcError {
  const spaced = password === password.trim() ? '' : 'The password has white space at an end. '
  return new SvcError(
    'keystore-password-wrong',
    `the password does not open ${path}, or the file is damaged`,
    {
      hint: `${spaced}Check the password: SVC_KEY_PASSWORD, or without it the file that SVC_KEY_PASSWORD_FILE names. If it is right, restore the keystore from a backup.`,
    },
  )
}

const restore = 'Restore the keystore from a backup, or make a new one with `svc-node init`.'

const unaffordable = (path: string, cause: unknown): SvcError =>
  new SvcError(
    'keystore-invalid',
    `the scrypt parameters of ${path} cannot be used on this machine: ${errorMessage(cause)}`,
    { hint: restore, cause },
  )

function decrypted(keystore: Keystore.Keystore, key: Keystore.Key): Hex | undefined {
  try {
    return Keystore.decrypt(keystore, key)
  } catch {
    return undefined
  }
}

/** Commands without a password use the address that the file names, and money would be sent there. So it must fit the key. */
function checkNamed(path: string, named: string | undefined, privateKey: Hex): void {
  const { address } = privateKeyToAccount(privateKey)
  if (named === undefined || addressOf(named) === address.toLowerCase()) return
  throw new SvcError(
    'keystore-invalid',
    `${path} names ${named}, but holds the key of ${address}`,
    {
      hint: 'The file was changed: restore it from a backup, and send nothing to the address that it names.',
    },
  )
}

const addressOf = (text: string): Address | undefined =>
  Address.safeParse(`0x${text.replace(/^0x/, '')}`).data

async function readSealed(path: string): Promise<z.output<typeof Web3SecretStorage>> {
  if (!(await fileExists(path))) {
    throw new SvcError('keystore-missing', `there is no keystore at ${path}`, {
      hint: 'Run `svc-node init` first. If there was one, correct keystore_path, or restore the keystore from a backup.',
    })
  }
  const parsed = Web3SecretStorage.safeParse(await readJson(path, restore))
  if (parsed.success) return parsed.data
  const wrong = parsed.error.issues.map((issue) => issue.path.join('.')).filter((at) => at !== '')
  throw new SvcError(
    'keystore-invalid',
    `${path} is no Web3 Secret Storage v3 keystore with scrypt. Wrong or missing: ${wrong.join(', ') || 'all of it'}`,
    { hint: restore },
  )
}
