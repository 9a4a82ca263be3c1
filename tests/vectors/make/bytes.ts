import { bytesToHex } from 'viem'

/** So many bytes of one value. */
export const fill = (byte: number, length = 32): Uint8Array<ArrayBuffer> =>
  new Uint8Array(length).fill(byte)

/** Bytes as vectors have them where the protocol has no text for them: 0x and hex. */
export const hex = (bytes: Uint8Array): string => bytesToHex(bytes)

/** A thing with its big integers as decimal text. */
export const decimals = (value: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, typeof one === 'bigint' ? `${one}` : one]),
  )
