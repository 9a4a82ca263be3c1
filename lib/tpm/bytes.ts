import { concatBytes } from '../digest.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** Thrown for bytes that are not the expected TPM structure. */
export class TpmFormatError extends Error {
  override readonly name = 'TpmFormatError'
}

/** Reads a TPM structure (big-endian) from its start. Every read throws TpmFormatError when bytes are missing. */
export type TpmReader = {
  u8(): number
  u16(): number
  u32(): number
  u64(): bigint
  /** The next bytes, copied. */
  raw(length: number): Bytes
  /** A TPM2B: a 16-bit length, then so many bytes. Throws for more than `maxBytes`. */
  sized(maxBytes?: number): Bytes
  /** The number of unread bytes. */
  left(): number
  /** Throws TpmFormatError when unread bytes are left. */
  end(): void
}

const largestSized = 4_096

/** Makes a reader of a copy of the bytes, so that they cannot change after they were checked. */
export function createTpmReader(source: Uint8Array): TpmReader {
  const bytes: Bytes = new Uint8Array(source)
  const view = new DataView(bytes.buffer)
  let offset = 0
  const take = (length: number): number => {
    if (offset + length > bytes.length) throw new TpmFormatError('The TPM structure ends too early')
    const start = offset
    offset += length
    return start
  }
  const raw = (length: number): Bytes => {
    const start = take(length)
    return bytes.slice(start, start + length)
  }
  const u16 = () => view.getUint16(take(2))
  return {
    u8: () => view.getUint8(take(1)),
    u16,
    u32: () => view.getUint32(take(4)),
    u64: () => view.getBigUint64(take(8)),
    raw,
    sized: (maxBytes = largestSized) => {
      const length = u16()
      if (length > maxBytes) throw new TpmFormatError('A part of the TPM structure is too long')
      return raw(length)
    },
    left: () => bytes.length - offset,
    end: () => {
      if (offset < bytes.length)
        throw new TpmFormatError('The TPM structure has data after its end')
    },
  }
}

/** Writes a TPM structure, big-endian. Each method returns the writer. */
export type TpmWriter = {
  u8(value: number): TpmWriter
  u16(value: number): TpmWriter
  u32(value: number): TpmWriter
  u64(value: bigint): TpmWriter
  raw(bytes: Uint8Array): TpmWriter
  /** A TPM2B: a 16-bit length, then the bytes. */
  sized(bytes: Uint8Array): TpmWriter
  /** Everything written so far. */
  done(): Bytes
}

/** Makes an empty writer. */
export function createTpmWriter(): TpmWriter {
  const parts: Uint8Array[] = []
  const number = (length: number, set: (view: DataView) => void): TpmWriter => {
    const part = new Uint8Array(length)
    set(new DataView(part.buffer))
    parts.push(part)
    return writer
  }
  const raw = (bytes: Uint8Array): TpmWriter => {
    parts.push(new Uint8Array(bytes))
    return writer
  }
  const u16 = (value: number) => number(2, (view) => view.setUint16(0, value))
  const writer: TpmWriter = {
    u8: (value) => number(1, (view) => view.setUint8(0, value)),
    u16,
    u32: (value) => number(4, (view) => view.setUint32(0, value)),
    u64: (value) => number(8, (view) => view.setBigUint64(0, value)),
    raw,
    sized: (bytes) => {
      if (bytes.length > 0xffff) throw new TpmFormatError('A TPM structure has no such long part')
      u16(bytes.length)
      return raw(bytes)
    },
    done: () => concatBytes(...parts),
  }
  return writer
}

/** Pads a big-endian integer to `length` bytes, since a TPM may omit leading zeros. Throws TpmFormatError when it is longer. */
export function leftPadded(integer: Uint8Array, length: number): Bytes {
  if (integer.length > length) throw new TpmFormatError('An integer of the TPM is too long')
  return concatBytes(new Uint8Array(length - integer.length), integer)
}
