import { equalBytes } from '../../lib/digest.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The numbers of an RSA public key, without leading zeros. */
export type RsaPublicKey = { readonly modulus: Bytes; readonly exponent: Bytes }

const sequence = 0x30
const integer = 0x02
const bitString = 0x03
const objectIdentifier = 0x06

// rsaEncryption, and RSAES-OAEP, which some vendors write and WebCrypto does not read.
const rsaOids = [
  Uint8Array.of(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01),
  Uint8Array.of(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x07),
]

/** Reads the RSA key in a SubjectPublicKeyInfo (DER). Undefined when it holds another kind of key, or is malformed. */
export function readRsaPublicKey(spki: Uint8Array): RsaPublicKey | undefined {
  const content = keyContent(spki)
  const numbers = content && readAll(content, sequence)
  if (!numbers) return
  const modulus = readElement(numbers, 0)
  const exponent = modulus && readElement(numbers, modulus.end)
  if (modulus?.tag !== integer || exponent?.tag !== integer) return
  if (exponent.end !== numbers.length) return
  return { modulus: unsigned(modulus.content), exponent: unsigned(exponent.content) }
}

/** The bit string of an RSA SubjectPublicKeyInfo, without its first byte. */
function keyContent(spki: Uint8Array): Uint8Array | undefined {
  const outer = readAll(spki, sequence)
  if (!outer) return
  const algorithm = readElement(outer, 0)
  const key = algorithm && readElement(outer, algorithm.end)
  if (algorithm?.tag !== sequence || key?.tag !== bitString || key.end !== outer.length) return
  const oid = readElement(algorithm.content, 0)
  if (oid?.tag !== objectIdentifier) return
  if (!rsaOids.some((known) => equalBytes(known, oid.content))) return
  // The first byte counts unused bits.
  return key.content[0] === 0 ? key.content.subarray(1) : undefined
}

type Element = { readonly tag: number; readonly content: Uint8Array; readonly end: number }

function readElement(bytes: Uint8Array, start: number): Element | undefined {
  const tag = bytes[start]
  const first = bytes[start + 1]
  if (tag === undefined || first === undefined) return
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (lengthBytes > 2 || first === 0x80) return
  let length = first < 0x80 ? first : 0
  for (let index = 0; index < lengthBytes; index++) {
    length = length * 256 + (bytes[start + 2 + index] ?? 0)
  }
  const contentStart = start + 2 + lengthBytes
  const end = contentStart + length
  return end > bytes.length ? undefined : { tag, content: bytes.subarray(contentStart, end), end }
}

/** The content of the one element that fills the bytes. */
function readAll(bytes: Uint8Array, tag: number): Uint8Array | undefined {
  const element = readElement(bytes, 0)
  return element?.tag === tag && element.end === bytes.length ? element.content : undefined
}

const unsigned = (bytes: Uint8Array): Bytes => {
  const start = bytes.findIndex((byte) => byte !== 0)
  return new Uint8Array(start < 0 ? [] : bytes.slice(start))
}
