import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ownerOnly, writeWhole } from '../../../lib/host/write-whole.ts'

const names = {
  clientKey: 'client-key',
  publicKey: 'public-key',
  crs: 'crs',
  verifierKey: 'verifier-key',
} as const

/** The serialised keys of a coprocessor. With them one can decrypt everything that is encrypted to it, and sign for it. */
export type KeyBytes = Readonly<Record<keyof typeof names, Uint8Array>>

/** Whether the folder holds keys. They are written all at once. */
export const hasKeys = (folder: string): boolean => existsSync(folder)

/** Reads one of the keys. */
export const readKey = (folder: string, key: keyof KeyBytes): Uint8Array => {
  try {
    return readFileSync(join(folder, names[key]))
  } catch (error) {
    throw new Error(`there is no ${names[key]} in ${folder}: remove the folder to have new keys`, {
      cause: error,
    })
  }
}

/** Returns a short hash that identifies a public key. */
export const fingerprintOf = (publicKey: Uint8Array): string =>
  createHash('sha256').update(publicKey).digest('hex').slice(0, 16)

/** Writes keys as a new folder. If another process was faster, its keys stay and these are dropped. */
export const writeKeys = (folder: string, keys: KeyBytes): void => {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
  const draft = mkdtempSync(`${folder}.`)
  try {
    for (const key of Object.keys(names) as (keyof KeyBytes)[]) {
      writeWhole(join(draft, names[key]), keys[key], ownerOnly)
    }
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!hasKeys(folder)) throw error
  }
}
