import { expect, it } from 'vitest'
import { BlockNumber } from '../../lib/codecs.ts'

it('the number of a block is one that a chain may reach', () => {
  expect(BlockNumber.parse('9007199254740991')).toBe(9_007_199_254_740_991n)
  for (const text of ['9007199254740992', '18446744073709551616', '-1', '01']) {
    expect(BlockNumber.safeParse(text).success).toBe(false)
  }
})
