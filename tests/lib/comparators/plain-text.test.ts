import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../lib/comparators/similar/features.ts'
import { plainTextOf } from '../../../lib/comparators/similar/plain-text.ts'
import { tokensOf } from '../../../lib/comparators/similar/tokens.ts'

const tokens = (text: string): string =>
  tokensOf(plainTextOf(text))
    .map((token) => token.text)
    .join(' ')

const names = (text: string): readonly string[] => [...featuresOf(text).names]

describe('the tokens of a text', () => {
  it.each([
    ['a heading', '## The **answer** is\n\n_here_', 'The answer is here'],
    ['a closed heading', '# Results #\nfine', 'Results fine'],
    ['bullets', '- one\n* one\n+ one\n• one', 'one one one one'],
    ['list numbers', '1. first\n2) second', 'first second'],
    ['a fence', '```ts\nlet x = 1\n```', 'let x = 1'],
    ['a rule', 'above\n\n* * *\n\nbelow', 'above below'],
    ['a table', '| a | b |\n|---|:-:|\n| c | d |', 'a b c d'],
    ['a quotation', '> > quoted words', 'quoted words'],
    ['emphasis', 'a *word* and a **strong one** and __more__', 'a word and a strong one and more'],
    [
      'a link',
      'see [the docs](https://docs.example/a/ "title").',
      'see the docs https://docs.example/a title',
    ],
    ['an image', '![a cat](cat.png)', 'a cat cat.png'],
    ['a bracket that is no link', 'a [b] (c) [d', 'a b c d'],
    ['tags', '<p>one<br/>more</p>', 'one more'],
    ['typographic signs', '“it’s” – a dash… and ‑ more', "it's a dash and more"],
    ['a soft hyphen and a zero width space', 'some\u00adthing\u200b', 'something'],
    ['full width letters', 'ＡＢＣ １２', 'abc 12'],
  ])('reads through %s', (_, text, plain) => {
    expect(tokens(text)).toBe(tokens(plain))
  })

  it.each([
    ['\\( \\frac{1}{2} \\leq x \\)', '1 / 2 <= x'],
    ['$a \\times b$', 'a * b'],
    ['a × b ÷ c ≠ d', 'a * b / c != d'],
    ['\\text{speed} = 3\\,\\mathrm{km}', 'speed = 3 km'],
    ['\\boxed{\\dfrac{3}{4}}', '3 / 4'],
    ['\\lefteye', 'lefteye'],
  ])('reads the formula %s', (text, expected) => {
    expect(tokens(text)).toBe(expected)
  })

  it('takes each character of a script without spaces for a word', () => {
    expect(tokens('水で動く。คน')).toBe('水 で 動 く ค น')
    expect(tokens('가나 다라')).toBe('가나 다라')
  })

  it('finds links and addresses', () => {
    expect(tokens('Go to HTTPS://Example.org/A. Or mail me@example.org!')).toBe(
      'go to https://example.org/a or mail me@example.org',
    )
  })

  it('tells names and identifiers from common words', () => {
    expect(
      names('Then Hedwig read NASA and max_value at the Quay. Nobody saw it. THE END'),
    ).toEqual(['hedwig', 'nasa', 'max_value', 'quay', 'end'])
  })

  it('knows words that objects have as members', () => {
    expect(tokens('constructor __proto__ toString')).toBe('constructor proto tostring')
  })

  it('changes nothing more when it is done again', () => {
    for (const text of ['**a** _b_ # c', '1. x\n2. y', '> q\n> r', 'see [a](b) \\frac{1}{2}']) {
      expect(plainTextOf(plainTextOf(text))).toBe(plainTextOf(text))
    }
  })
})
