import { describe, expect, it } from 'vitest'
import { retryAfterMsOf } from '../../lib/retry-after.ts'

const now = Date.UTC(2026, 10, 21, 12, 0, 0)
const asked = (value: string) => retryAfterMsOf(new Headers({ 'retry-after': value }), now)

describe('Retry-After', () => {
  it('is read in seconds', () => {
    expect(asked('7')).toBe(7_000)
    expect(asked(' 0.5 ')).toBe(500)
  })

  it('is read as an HTTP date, in each of its forms', () => {
    expect(asked('Sat, 21 Nov 2026 12:00:30 GMT')).toBe(30_000)
    expect(asked('Saturday, 21-Nov-26 12:00:30 GMT')).toBe(30_000)
  })

  for (const value of ['', '0', '-5', 'soon', 'Infinity', 'Sat, 21 Nov 2026 11:59:00 GMT']) {
    it(`asks for nothing as "${value}"`, () => {
      expect(asked(value)).toBeUndefined()
    })
  }

  it('may be missing', () => {
    expect(retryAfterMsOf(new Headers(), now)).toBeUndefined()
    expect(retryAfterMsOf(undefined, now)).toBeUndefined()
  })
})
