import { link, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Hex, toHex } from 'viem'
import type { Address } from '../../lib/codecs.ts'
import { keystoreAddress, writeKeystore } from '../../lib/host/keystore.ts'
import { fileExists, makePrivateFolder, writePrivateJson } from '../../lib/host/private-files.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ConfigFile } from '../config.ts'
import { locked, lockPathOf } from '../journal/lock.ts'
import type { CommandContext } from './context.ts'

/** The result of `init`. */
export type Made = {
  readonly address: Address
  readonly configPath: string
  readonly keystorePath: string
  /** The new path of the old keystore. */
  readonly kept: string | undefined
}

/** Throws SvcError `already-initialised` when one of the paths exists. */
export async function refuseOverwriting(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (!(await fileExists(path))) continue
    throw new SvcError('already-initialised', `${path} exists already`, {
      hint: 'If the keystore is lost, restore its backup: only it reaches the stake. --force makes a new wallet, and keeps an old keystore beside it under its address.',
    })
  }
}

/** Writes a configuration and a wallet's keystore, or neither: no half of them is of use. Throws SvcErrors. */
export async function writeNodeFiles(
  what: {
    readonly configPath: string
    readonly keystorePath: string
    readonly file: ConfigFile
    readonly password: string
    readonly scryptN: number
    /** Whether to replace existing files. */
    readonly force: boolean
  },
  imported: Hex | undefined,
  { random }: Pick<CommandContext, 'random'>,
): Promise<Made> {
  const { configPath, keystorePath, file, password, scryptN, force } = what
  await makePrivateFolder(dirname(configPath))
  // The lock excludes another `init`, and a daemon, which uses the old files.
  return await locked(lockPathOf(configPath), async () => {
    if (!force) await refuseOverwriting([configPath, keystorePath])
    const kept = await keepOldKeystore(keystorePath)
    try {
      const wallet = { privateKey: imported ?? toHex(random.bytes(32)), password, scryptN }
      const address = await writeKeystore(keystorePath, wallet, random)
      await writePrivateJson(configPath, file)
      return { address, configPath, keystorePath, kept }
    } catch (error) {
      await putBack(keystorePath, kept)
      throw error
    }
  })
}

/** Renames an old keystore before it is replaced, because its wallet may hold a stake. */
async function keepOldKeystore(path: string): Promise<string | undefined> {
  if (!(await fileExists(path))) return undefined
  const address = await keystoreAddress(path).catch(() => undefined)
  const name = address?.slice(2) ?? 'unknown'
  for (let copy = 1; ; copy++) {
    const target = join(dirname(path), `keystore-${name}${copy === 1 ? '' : `-${copy}`}.json`)
    if (await fileExists(target)) continue
    // Where hard links do not work, the old name is missing for a moment.
    await link(path, target).catch(() => rename(path, target))
    return target
  }
}

async function putBack(keystorePath: string, kept: string | undefined): Promise<void> {
  if (kept === undefined) return await rm(keystorePath, { force: true })
  await rename(kept, keystorePath)
  // If both are names of one file, the rename did nothing.
  await rm(kept, { force: true })
}
