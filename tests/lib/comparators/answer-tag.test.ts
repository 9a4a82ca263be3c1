import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../lib/comparators/similar/features.ts'

const answerIn = (text: string) => featuresOf(text).answer
const reasoning = 'Both trains leave at noon and meet where their ways are equally long. '.repeat(4)

describe('the final answer of a text', () => {
  it.each([
    '42',
    '42.',
    '**42**',
    'The answer is 42.',
    '{"answer": "42"}',
    '["42"]',
    '```json\n{"answer": "42"}\n```',
    `${reasoning}So it is \\(\\boxed{42}\\).`,
    `${reasoning}Not \\boxed{7}, but \\boxed{42}.`,
    `${reasoning}\nFinal answer: 42`,
  ])('is the value in %s', (text) => {
    expect(answerIn(text)).toEqual({ value: '42' })
  })

  it.each(['B', '(B)', 'B.', 'Answer: B', 'The answer is (B).', '{"Answer":"B"}'])(
    'is the letter in %s',
    (text) => {
      expect(answerIn(text)).toEqual({ letter: 'b' })
    },
  )

  it.each([
    `${reasoning}The correct answer is (B) k = 1.`,
    `${reasoning}The correct option is:\n\n(B) \\( k = 1 \\)`,
  ])('is letter and value in %s', (text) => {
    expect(answerIn(text)).toEqual({ letter: 'b', value: 'k = 1' })
  })

  it('is a JSON document whatever the order of its keys', () => {
    expect(answerIn('{"b":1,"a":" X  y "}')).toEqual(answerIn('```json\n{"a":"x y", "b":1.0}\n```'))
    expect(answerIn('{"b":1,"a":"x"}')).not.toEqual(answerIn('{"b":2,"a":"x"}'))
  })

  it('is missing where none can be told', () => {
    expect(answerIn(reasoning)).toEqual({})
    expect(answerIn('')).toEqual({})
  })

  it('is the text itself where JSON is broken or nested without end', () => {
    expect(answerIn('{"cost":')).toEqual({ value: 'cost' })
    expect(answerIn('['.repeat(100_000))).toEqual({})
  })

  it('is read from a whole box, nested braces and all', () => {
    expect(answerIn(`${reasoning}\\boxed{\\frac{1}{2}}`)).toEqual({ value: '1 / 2' })
    expect(answerIn(`${reasoning}\\boxed{never closed`)).toEqual({})
  })
})
