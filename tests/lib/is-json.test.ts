import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasNameTwice, isTooDeep, maxDepth } from '../../lib/is-json.ts'

/** Names and values in which quotes, colons, braces and backslashes are frequent. */
const tricky = fc.string({ unit: fc.constantFrom('"', '\\', ':', '{', ',', ' ', 'a', '\n', 'é') })

describe('hasNameTwice', () => {
  it('finds no name twice in what JSON.stringify writes, with and without blanks', () => {
    const value = fc.jsonValue({ stringUnit: 'binary' })
    const written = fc.oneof(value, fc.dictionary(tricky, fc.oneof(tricky, fc.array(tricky))))
    fc.assert(
      fc.property(written, fc.constantFrom('', '\t', ' \n'), (one, indent) => {
        const text = ` ${JSON.stringify(one, undefined, indent)}\n`
        expect(hasNameTwice(text, JSON.parse(text))).toBe(false)
      }),
    )
  })

  it('finds a name that an object has twice, however deep and however written', () => {
    fc.assert(
      fc.property(
        tricky,
        tricky,
        fc.nat(9),
        fc.constantFrom('', '\r\n'),
        (name, text, deep, blank) => {
          const member = `${blank}${JSON.stringify(name)}${blank}:${blank}${JSON.stringify(text)}`
          const twice = `{${member},${member}}`
          const within = `${'[{"a":'.repeat(deep)}${twice}${'}]'.repeat(deep)}`
          expect(hasNameTwice(within, JSON.parse(within))).toBe(true)
        },
      ),
    )
  })
})

it('isTooDeep counts lists and objects in one another', () => {
  const nested = (depth: number): unknown =>
    Array.from({ length: depth }).reduce((inner, _, index) => (index % 2 ? [inner] : { inner }), 1)
  expect([isTooDeep(nested(maxDepth)), isTooDeep(nested(maxDepth + 1))]).toEqual([false, true])
})
