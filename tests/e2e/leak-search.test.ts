import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findLeaks } from './leak-search.ts'

const text = new TextEncoder().encode('the violet ferry leaves at dawn')
const key = new Uint8Array(randomBytes(32))
const secrets = [
  { name: 'text', bytes: text },
  { name: 'key', bytes: key },
]

const found = (place: Buffer) => findLeaks([{ name: 'place', bytes: place }], secrets)

describe('the search for leaks', () => {
  it('finds nothing where nothing is', () => {
    expect(found(randomBytes(10_000))).toEqual([])
  })

  it('finds a secret wherever it stands in what was encoded', () => {
    for (let before = 0; before < 7; before++) {
      for (let after = 0; after < 4; after++) {
        const around = (bytes: Uint8Array) =>
          Buffer.concat([randomBytes(before), bytes, randomBytes(after)])
        for (const encoding of ['hex', 'base64', 'base64url', 'latin1'] as const) {
          const encode = (bytes: Buffer) =>
            encoding === 'latin1' ? bytes : Buffer.from(`{"x":"${bytes.toString(encoding)}"}`)
          expect(found(encode(around(key)))).toEqual(['key in place'])
          expect(found(encode(around(text)))).toEqual(['text in place'])
          const utf16 = Buffer.from(Buffer.from(text).toString(), 'utf16le')
          expect(found(encode(around(utf16)))).toEqual(['text in place'])
          expect(found(encode(around(Buffer.from(utf16).swap16())))).toEqual(['text in place'])
        }
      }
    }
  })
})
