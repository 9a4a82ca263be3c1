import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Hex, toHex } from 'viem'
import { ownerOnly, writeWhole } from '../../../lib/host/write-whole.ts'
import { fingerprintOf } from './key-files.ts'

// The task manager overwrites these bits of the raw hash with the type and the security zone.
const metadataBits = 16n

/** Keeps ciphertexts in a folder, one file each, so that a restart loses none. */
export type Ciphertexts = ReturnType<typeof openCiphertexts>

/** Opens the ciphertexts of a public key. Makes their folder if it is missing. */
export const openCiphertexts = (dataFolder: string, publicKey: Uint8Array) => {
  // Only the same keys can open what they have encrypted, so each public key has its own folder.
  const folder = join(dataFolder, `ciphertexts-${fingerprintOf(publicKey)}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const pathOf = (handle: bigint) =>
    join(folder, toHex(handle >> metadataBits, { size: 30 }).slice('0x'.length))
  const has = (handle: bigint) => existsSync(pathOf(handle))
  return {
    has,
    /** Undefined when there is none. */
    read: (handle: bigint): Uint8Array | undefined =>
      has(handle) ? readFileSync(pathOf(handle)) : undefined,
    /** Writes a ciphertext. It is on disk when this returns. */
    write: (rawHash: Hex, bytes: Uint8Array): void =>
      writeWhole(pathOf(BigInt(rawHash)), bytes, ownerOnly),
  }
}
