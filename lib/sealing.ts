import { concatBytes, utf8 } from './digest.ts'
import type { Random } from './random.ts'
import { SvcError } from './svc-error.ts'

type Bytes = Uint8Array<ArrayBuffer>

const version = 1
const ivBytes = 12
const tagBytes = 16

/** How many bytes a seal adds to a text. */
export const sealBytes = 1 + ivBytes + tagBytes

const importKey = (key: Bytes, use: 'encrypt' | 'decrypt') =>
  crypto.subtle.importKey('raw', key, 'AES-GCM', false, [use])

/** A new 32-byte AES-256 key. */
export const newSealingKey = (random: Random): Bytes => random.bytes(32)

/**
 * Seals bytes with AES-256-GCM: one version byte, a 12-byte random IV, the ciphertext with its 16-byte tag. `label` says what the bytes are
 * and whose. The seal binds it, so that a blob cannot stand in for another.
 */
export async function seal(
  bytes: Bytes,
  key: Bytes,
  label: string,
  random: Random,
): Promise<Bytes> {
  const iv = random.bytes(ivBytes)
  const ciphertext = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv, additionalData: utf8(label) },
    await importKey(key, 'encrypt'),
    bytes,
  )
  return concatBytes(Uint8Array.of(version), iv, new Uint8Array(ciphertext))
}

/** True when the bytes have the form of a sealed blob, as far as that shows without the key. */
export const looksSealed = (blob: Uint8Array): boolean =>
  blob.length >= sealBytes && blob[0] === version

/** Opens sealed bytes; throws SvcError `blob-unreadable` when the key, the label or a byte differs from the sealed one. */
export async function unseal(blob: Uint8Array, key: Bytes, label: string): Promise<Bytes> {
  if (!looksSealed(blob)) throw unreadable('it is not a sealed blob of version 1')
  const iv = blob.slice(1, 1 + ivBytes)
  const additionalData = utf8(label)
  try {
    const plain = await crypto.subtle.decrypt(
      { name: 'AES-GCM', iv, additionalData },
      await importKey(key, 'decrypt'),
      blob.slice(1 + ivBytes),
    )
    return new Uint8Array(plain)
  } catch {
    throw unreadable('the key does not open it, or it was changed')
  }
}

/** Returns the text of opened bytes; throws SvcError `blob-unreadable` when they are not UTF-8. */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unreadable('it does not hold UTF-8 text')
  }
}

const unreadable = (why: string): SvcError =>
  new SvcError('blob-unreadable', `The blob cannot be decrypted: ${why}`, {
    hint: 'Ask the sender of the blob to seal and upload it again.',
  })

/** The two halves of an outer key that are encrypted: big-endian uint128, bytes 0-15 high and 16-31 low. */
export type KeyHalves = { readonly high: bigint; readonly low: bigint }

/** Splits a 32-byte key. */
export function splitKey(key: Uint8Array): KeyHalves {
  if (key.length !== 32) throw new TypeError(`A sealing key has 32 bytes, not ${key.length}`)
  const half = (start: number) =>
    key.slice(start, start + 16).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
  return { high: half(0), low: half(16) }
}

/** Joins two halves to the 32-byte key. */
export function joinKey({ high, low }: KeyHalves): Bytes {
  const key = new Uint8Array(32)
  for (const [half, offset] of [
    [high, 0],
    [low, 16],
  ] as const) {
    if (half < 0n || half >= 1n << 128n) throw new TypeError('A key half is a uint128')
    for (let index = 0; index < 16; index++) {
      key[offset + index] = Number((half >> BigInt(8 * (15 - index))) & 0xffn)
    }
  }
  return key
}
