import { describe, expect, it } from 'vitest'
import { createSipHash } from '../../../lib/comparators/similar/sip-hash.ts'

const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index)

const hexOf = ({ low, high }: { low: number; high: number }): string => {
  const bytes = new Uint8Array(8)
  const view = new DataView(bytes.buffer)
  view.setInt32(0, low, true)
  view.setInt32(4, high, true)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

describe('SipHash-2-4', () => {
  const hash = createSipHash(counting(16))

  it.each([
    [0, '310e0edd47db6f72'],
    [1, 'fd67dc93c539f874'],
    [7, '37d1018bf50002ab'],
    [8, '6224939a79f5f593'],
    [15, 'e545be4961ca29a1'],
    [63, '724506eb4c328a95'],
  ])('hashes %i bytes as its authors do', (length, expected) => {
    expect(hexOf(hash.bytes(counting(length)))).toBe(expected)
  })

  it('hashes texts as UTF-8 and numbers as four bytes', () => {
    const long = 'é'.repeat(2_000)
    expect(hexOf(hash.text(long))).toBe(hexOf(hash.bytes(new TextEncoder().encode(long))))
    expect(hexOf(hash.number(0x04030201))).toBe(hexOf(hash.bytes(Uint8Array.of(1, 2, 3, 4))))
  })

  it('takes a key of 16 bytes at least', () => {
    expect(() => createSipHash(new Uint8Array(15))).toThrow(RangeError)
  })
})
