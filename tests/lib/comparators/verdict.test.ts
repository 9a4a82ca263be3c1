import { describe, expect, it } from 'vitest'
import {
  canonicalAnswerJson,
  parseAnswerJson,
} from '../../../lib/comparators/similar/answer-json.ts'
import type { Likeness } from '../../../lib/comparators/similar/similarities.ts'
import { lengthClassOf } from '../../../lib/comparators/similar/thresholds.ts'
import { verdictOf } from '../../../lib/comparators/similar.ts'

type Shared = Likeness['shared']
const all: Shared = {
  ...{ trigrams: 1_000, words: 1_000, numbers: 1_000, names: 1_000 },
  ...{ negators: 1_000, links: 1_000 },
}

const verdictFor = (
  shared: Partial<Shared>,
  likeness: Partial<Likeness> = {},
  { ratio = 1_000 }: { ratio?: number } = {},
) => {
  const { outcome, why, similarities } = verdictOf(
    {
      ...{ sameText: false, shorter: 'medium', longer: 'medium', shared: { ...all, ...shared } },
      ...likeness,
    },
    ratio,
  )
  expect(similarities).toEqual({ ...all, ...shared, length: ratio })
  return `${outcome}: ${why}`
}

const alike = 'match: the same wording'
const worded = 'inconclusive: the wording differs'
const shortened = 'inconclusive: one is much shorter'
const linked = 'inconclusive: the links differ'
const nothing = 'no-match: the answers have nothing in common'

describe('two answers of some length', () => {
  it('match when they are equal but for how they are set, whatever else is measured', () => {
    expect(verdictFor({ trigrams: 0, words: 0 }, { sameText: true }, { ratio: 1 })).toBe(
      'match: equal but for the way they are set',
    )
  })

  it.each([
    ['brief', 400, 0, alike],
    ['brief', 399, 340, worded],
    ['brief', 399, 341, alike],
    ['brief', 225, 515, alike],
    ['brief', 225, 514, worded],
    ['brief', 224, 1_000, worded],
    ['medium', 275, 625, alike],
    ['medium', 275, 624, worded],
    ['medium', 274, 1_000, worded],
    ['medium', 899, 0, worded],
    ['medium', 900, 0, alike],
    ['long', 275, 625, alike],
    ['long', 275, 624, worded],
    ['long', 274, 1_000, worded],
  ] as const)(
    '%s ones match from so many trigrams and words on: %s, %s',
    (shorter, trigrams, words, verdict) => {
      expect(verdictFor({ trigrams, words }, { shorter })).toBe(verdict)
    },
  )

  it('have nothing in common below all bounds, one of them by their lengths', () => {
    for (const shorter of ['brief', 'medium', 'long'] as const) {
      expect(verdictFor({ trigrams: 39, words: 59 }, { shorter })).toBe(nothing)
      expect(verdictFor({ trigrams: 40, words: 59 }, { shorter })).toBe(worded)
      expect(verdictFor({ trigrams: 39, words: 60 }, { shorter })).toBe(worded)
      expect(verdictFor({ trigrams: 39, words: 29 }, { shorter }, { ratio: 100 })).toBe(nothing)
      expect(verdictFor({ trigrams: 39, words: 30 }, { shorter }, { ratio: 100 })).toBe(worded)
    }
    expect(verdictFor({ trigrams: 0, words: 0 }, { sameAnswer: true })).toBe(nothing)
    expect(verdictFor({ trigrams: 0, words: 0 }, { sameAnswer: false })).toBe(nothing)
  })

  it('do not match with another final answer, another length or other links', () => {
    expect(verdictFor({}, { sameAnswer: false })).toBe('inconclusive: the final answers differ')
    expect(verdictFor({}, { sameAnswer: true })).toBe(alike)
    expect(verdictFor({}, {}, { ratio: 650 })).toBe(alike)
    expect(verdictFor({}, {}, { ratio: 649 })).toBe(shortened)
    expect(verdictFor({ links: 999 })).toBe(linked)
  })

  it.each([
    ['brief', 550],
    ['medium', 800],
    ['long', 920],
  ] as const)('as near copies agree in every fact: %s', (shorter, trigrams) => {
    const copies = 'inconclusive: near copies that differ in a number, a name or a negation'
    for (const fact of ['numbers', 'names', 'negators'] as const) {
      expect(verdictFor({ trigrams, [fact]: 999 }, { shorter })).toBe(copies)
      expect(verdictFor({ trigrams: trigrams - 1, [fact]: 999 }, { shorter })).toBe(alike)
    }
    expect(verdictFor({ trigrams }, { shorter })).toBe(alike)
  })
})

describe('a short answer', () => {
  const short = { shorter: 'short', longer: 'short' } as const
  it('is compared by itself', () => {
    const differ = 'inconclusive: short answers differ, as honest ones may'
    expect(verdictFor({}, { ...short, sameAnswer: true })).toBe('match: the same short answer')
    expect(verdictFor({}, { ...short, sameAnswer: false })).toBe(differ)
    expect(verdictFor({}, short)).toBe(differ)
    expect(verdictFor({ links: 999 }, { ...short, sameAnswer: true })).toBe(linked)
    const longer = { shorter: 'short', longer: 'brief', sameAnswer: true } as const
    expect(verdictFor({}, longer, { ratio: 649 })).toBe(shortened)
    expect(verdictFor({}, longer, { ratio: 650 })).toBe('match: the same short answer')
    expect(verdictFor({}, { ...short, sameAnswer: true }, { ratio: 1 })).toMatch(/^match/)
  })

  it('has at most 12 words, a brief one 40, one of medium length 160', () => {
    expect([0, 12, 13, 40, 41, 160, 161].map(lengthClassOf)).toEqual([0, 0, 1, 1, 2, 2, 3])
  })
})

describe('an answer that is JSON', () => {
  const read = (text: string) => {
    const parsed = parseAnswerJson(text)
    return parsed && canonicalAnswerJson(parsed.value)
  }
  it.each([
    ['{"b": 1, "a": [true, null]}', '{"a":[true,null],"b":1}'],
    ['[1,2]', '[1,2]'],
    ['{"b":1,"c":2,"a":3}', '{"a":3,"b":1,"c":2}'],
    ['[" A  B\\n"]', '["a b"]'],
    ['["\\"[[{{", "]]"]', '["\\"[[{{","]]"]'],
    ['x[1]', undefined],
    ['"a"', undefined],
    ['[1', undefined],
    ['[123456789012345]', '[123456789012345]'],
    ['[1234567890123456]', undefined],
    ['["1234567890123456"]', '["1234567890123456"]'],
    ['[-1.5e-10]', '[-1.5e-10]'],
  ])('%s is %s', (text, spelling) => {
    expect(read(text)).toBe(spelling)
  })

  it('is nested 32 deep at most, at once', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`
    expect([read(nested(32)) !== undefined, read(nested(33))]).toEqual([true, undefined])
    const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    expect([read(objects(32)) !== undefined, read(objects(33))]).toEqual([true, undefined])
    expect(read(`[${Array(40).fill('[1]').join()}]`)).toMatch(/^\[\[1\],/)
    expect(read(`[${Array(40).fill('{"a":1}').join()}]`)).toMatch(/^\[\{/)
    expect(read(`["${'['.repeat(40)}"]`)).toBe(`["${'['.repeat(40)}"]`)
    expect(read(`["\\"${'['.repeat(40)}"]`)).toBe(`["\\"${'['.repeat(40)}"]`)
    expect(read(`["${']'.repeat(9)}",${nested(31)}]`)).toBeDefined()
    expect(read(`["${']'.repeat(9)}",${nested(32)}]`)).toBeUndefined()
  })
})
