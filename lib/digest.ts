import * as base64url from 'jose/base64url'
import { bytesToHex, type Hex, keccak256, sha256 as sha256Here } from 'viem'
import type { Hash32 } from './codecs.ts'
import { hostCrypto } from './host-crypto.ts'

type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()

/** UTF-8 bytes of a text. */
export const utf8 = (text: string): Bytes => encoder.encode(text) as Bytes

/** One array of all parts in order. */
export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

// Up to this size a digest takes less time than the way to another thread and back.
const mostHashedHere = 1_024

// Up to this size the host's digest takes less than 0.1 ms. A longer one would block the event loop.
const mostHashedByHost = 65_536

/** SHA-256, 32 bytes. */
export async function sha256(bytes: Uint8Array): Promise<Bytes> {
  if (hostCrypto && bytes.length <= mostHashedByHost) {
    return new Uint8Array(hostCrypto.hash('sha256', bytes, 'buffer'))
  }
  if (bytes.length <= mostHashedHere) return new Uint8Array(sha256Here(bytes, 'bytes'))
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Bytes))
}

/** keccak256 as 0x and hex. */
export const keccak256Hex = (bytes: Uint8Array | Hex): Hash32 => keccak256(bytes) as Hash32

/** SHA-256 as 0x and hex. */
export const sha256Hex = async (bytes: Uint8Array): Promise<Hash32> =>
  bytesToHex(await sha256(bytes)) as Hash32

/** HMAC-SHA256, 32 bytes. */
export async function hmacSha256(key: Uint8Array, message: Uint8Array): Promise<Bytes> {
  if (hostCrypto) {
    return new Uint8Array(hostCrypto.createHmac('sha256', key).update(message).digest())
  }
  const imported = await crypto.subtle.importKey(
    'raw',
    key as Bytes,
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  )
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message as Bytes))
}

/** HKDF-SHA256 (RFC 5869). */
export async function hkdfSha256(
  key: Uint8Array,
  salt: Uint8Array,
  info: string,
  length: number,
): Promise<Bytes> {
  const imported = await crypto.subtle.importKey('raw', key as Bytes, 'HKDF', false, ['deriveBits'])
  const bits = await crypto.subtle.deriveBits(
    { name: 'HKDF', hash: 'SHA-256', salt: salt as Bytes, info: utf8(info) },
    imported,
    length * 8,
  )
  return new Uint8Array(bits)
}

/** Compares secrets of the same length in constant time. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}

/** Bytes as base64url without padding. */
export const toBase64Url = (bytes: Uint8Array): string => base64url.encode(bytes)

/** Bytes of base64url text; throws on other text. */
export const fromBase64Url = (text: string): Bytes => new Uint8Array(base64url.decode(text))
