import { describe, expect, it } from 'vitest'
import { stemOf, wordsOf } from '../../../lib/comparators/similar/english.ts'
import { lastBoxed, withoutLatex } from '../../../lib/comparators/similar/latex.ts'
import { withoutMarkdown } from '../../../lib/comparators/similar/markdown.ts'
import { canonicalNumber, numberOfWord } from '../../../lib/comparators/similar/numbers.ts'
import { plainTextOf } from '../../../lib/comparators/similar/plain-text.ts'

it.each([
  ['a [b](c) d', 'a b c  d'],
  ['[b](c)[d](e)', 'b c d e '],
  ['![b](c)', 'b c '],
  ['a! [b](c)', 'a! b c '],
  ['wow![b](c)!', 'wowb c !'],
  ['[[b](c)', '[b c '],
  ['[a [b](c) d](e)', '[a b c  d](e)'],
  ['b](c) [d](e)', 'b](c) d e '],
  ['[a\nb](c)', '[a\nb](c)'],
  ['[a](b\nc) [d](e)', '[a](b\nc) d e '],
  ['[a](b', '[a](b'],
  ['[a](b)\n[c](d)', 'a b \nc d '],
  ['[a](b) x\ny [c](d', 'a b  x\ny [c](d'],
  ['[a]b](c)', '[a]b](c)'],
  ['[a](b](c)', 'a b](c '],
  ['](c)', '](c)'],
  ['[](c)', 'c '],
  ['x | y', 'x   y'],
  ['a\n***\nb', 'a\n\nb'],
  ['a\n|--|\nb', 'a\n\nb'],
  ["'''ts\na\n'''", '\na\n'],
  ['## a ##', 'a'],
  ['1. a\n- b', 'a\nb'],
])('a text without Markdown %j is read as %j', (text, plain) => {
  expect(withoutMarkdown(text)).toBe(plain)
})

describe('a text without LaTeX', () => {
  it.each([
    ['no marks', 'no marks'],
    ['a$b$$c$$d', 'a b c d'],
    ['\\(x\\)\\[y\\]', ' x  y '],
    ['\\left(x\\,y\\right)', ' (x y )'],
    ['\\lefty', ' lefty '],
    ['\\frac{1}{2}', ' 1 / 2 '],
    ['\\text{a \\mathrm{b \\boxed{c \\emph{d}}}}', ' text  a  b  c  d    '],
    ['a\\cdot b\\times c', 'a *  b *  c'],
    ['a\\le b\\leq c\\leqslant d', 'a <=  b <=  c <=  d'],
    ['a\\ge b\\geq c\\geqslant d', 'a >=  b >=  c >=  d'],
    ['a\\ne b\\neq c', 'a !=  b !=  c'],
    ['\\lef \\gef \\neg', ' lef   gef   neg '],
    ['{a}', ' a '],
  ])('%j is read as %j', (text, plain) => {
    expect(withoutLatex(text)).toBe(plain)
  })

  it('has a final answer in its last closed box', () => {
    expect(lastBoxed('\\boxed{1} and \\boxed {2}')).toBe('2')
    expect(lastBoxed('\\boxed{\\frac{1}{2}}')).toBe('\\frac{1}{2}')
    expect(lastBoxed('\\boxed{1} {2}')).toBe('1')
    expect(lastBoxed('} \\boxed{1} }')).toBe('1')
    expect(lastBoxed('\\boxed{1')).toBeUndefined()
    expect(lastBoxed('{1}')).toBeUndefined()
  })
})

describe('a word', () => {
  it.each([
    ["can't", 'can not'],
    ["isn't", 'is not'],
    ["they're", 'they are'],
    ["we've", 'we have'],
    ["you'll", 'you will'],
    ["he'd", 'he would'],
    ["i'm", 'i am'],
    ["tower's", 'tower'],
    ["it's", 'it is'],
    ["o'clock", 'oclock'],
    ["'s", 's'],
    ["'", ''],
    ['plain', 'plain'],
  ])('%s stands for %j', (word, words) => {
    expect(wordsOf(word)).toEqual(words === '' ? [] : words.split(' '))
  })

  it.each([
    ['is', 'is'],
    ['cat', 'cat'],
    ['bus', 'bus'],
    ['gas', 'gas'],
    ['cats', 'cat'],
    ['ies', 'ies'],
    ['pies', 'pie'],
    ['cities', 'city'],
    ['classes', 'class'],
    ['class', 'class'],
    ['status', 'status'],
    ['basis', 'basis'],
    ['sasha', 'sasha'],
    ['running', 'runn'],
    ['bring', 'bring'],
    ['string', 'string'],
    ['ingots', 'ingot'],
    ['walked', 'walk'],
    ['breed', 'breed'],
    ['quickly', 'quick'],
    ['house', 'hous'],
    ['tree', 'tree'],
  ])('%s has the stem %s', (word, stem) => {
    expect(stemOf(word)).toBe(stem)
  })
})

describe('a number', () => {
  it.each([
    ['0', '0'],
    ['-0', '0'],
    ['+5', '5'],
    ['-5.50', '-5.5'],
    ['007', '7'],
    ['1,234,567.000', '1234567'],
    ['0.10', '0.1'],
    ['5%', '5%'],
    ['1e5', '1e5'],
    ['1.0E-5', '1e-5'],
    ['2e+3', '2e3'],
    ['five', undefined],
    ['1.', undefined],
  ])('%s is written as %s', (text, spelling) => {
    expect(canonicalNumber(text)).toBe(spelling)
  })

  it('may be a word', () => {
    expect([numberOfWord('twelve'), numberOfWord('one')]).toEqual(['12', undefined])
  })
})

it.each([
  ['a\rb\r\nc', 'a\nb\nc'],
  ['\u201ca\u201d', '"a"'],
  ['a\u034fb', 'ab'],
  ['a\u2013b', 'a - b'],
  ['a\u2264b\u2265c\u2260d', 'a <= b >= c != d'],
  ['a\u00d7b\u00f7c', 'a * b / c'],
  ['x\u00b2\u00b3', 'x^23'],
  ['1\u00bd', '1 1/2'],
  ['<b>a</b>', 'a  '],
  ['x<br/>a', 'x  a'],
  ['<a href="x/y">b</a>', 'href="x/y" b  '],
  ['List<string>', 'List<string>'],
])('a text in plain characters %j is read as %j', (text, plain) => {
  expect(plainTextOf(text)).toBe(plain)
})
