import { describe, expect, it } from 'vitest'
import { oneLine, printable, printableJson, printableLine } from '../../lib/printable.ts'

describe('a text from elsewhere', () => {
  const text = 'a\tb\nc\r\u001b[2J\u009b\u2028\u2029\u202e\u2066\u061c\u200e\u200f日本'
  const rest = '\\u000d\\u001b[2J\\u009b\\u2028\\u2029\\u202e\\u2066\\u061c\\u200e\\u200f日本'

  it('controls no terminal, and keeps its tabs and line breaks', () => {
    expect(printable(text)).toBe(`a\tb\nc${rest}`)
  })

  it('stands on one line', () => {
    expect(printableLine(text)).toBe(`a\\u0009b\\nc${rest}`)
    expect(oneLine('a\r\n  b\n\nc\r')).toBe('a b c\\u000d')
  })

  it('is the same text as JSON', () => {
    const json = printableJson(JSON.stringify(text))
    expect(json).toContain(rest.slice(rest.indexOf('\\u009b')))
    expect(JSON.parse(json)).toBe(text)
  })
})
