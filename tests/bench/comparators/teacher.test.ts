import { expect, it } from 'vitest'
import { realText } from './real.ts'
import { promptOfLine } from './record-real.ts'
import { recordedTeacher, rocOf } from './teacher.ts'

/** Five likeliest tokens, all but the first of which are less likely by so many nats. */
const topOf = (shift: number): [string, number][] =>
  ['yes', 'no', 'so', 'if', 'or'].map((token, at) => [token, -0.1 - at * (2 + shift)])

it('recorded log-probabilities tell what the model makes of its own runs and of another model', async () => {
  const row = (short: number) => ({
    ...{ logprob: -0.1 - short, top: topOf(0) },
  })
  const told = { 0: [row(0), row(0)], 1: [row(0), row(0.1)], sibling: [row(1), row(0)] }
  const question = { q: 'x', runs: { 0: 'a', 1: 'b' }, weak: { sibling: 'c' } }
  expect(await recordedTeacher([{ ...question, told }])).toMatch(/sibling\s+1\.000 \/ 100/)
  expect(await recordedTeacher([question])).toBeUndefined()
})

it('a curve counts ties half, and lets one false alarm of a hundred pass', () => {
  expect(rocOf([1, 2], [1, 3]).auc).toBe((0.25 + 1) / 2)
  const honest = Array.from({ length: 100 }, (_, at) => at)
  expect(rocOf(honest, [98, 98.5, 200]).found).toBeCloseTo(2 / 3)
  expect(rocOf([1, 1], [1, 1])).toEqual({ auc: 0.5, found: 0 })
})

it('the table of a real recording counts honest texts, copies and lazy checkers, each scored by two levels that did not write it', async () => {
  const rows = (short: number, shift = 0) =>
    Array.from({ length: 30 }, () => ({
      logprob: -0.1 - short,
      top: topOf(shift),
    }))
  const set = (shift: number) => [
    {
      ...{ q: 'x', runs: { 0: 'a', 1: 'b', 2: 'c' }, weak: { Q4_0: 'd', Q8_0: 'e' } },
      told: { 0: rows(0, shift), 1: rows(0), 2: rows(0, shift), Q4_0: rows(0.4), Q8_0: rows(0) },
    },
  ]
  const text = await realText(
    {
      'haswell Q4_1': set(0),
      'icelake Q4_1': set(0.05),
      'sandybridge Q4_1': set(0),
      'icelake Q4_0': set(2),
    },
    { lengths: [25] },
  )
  const [names = [], cells = []] = text
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  const of = Object.fromEntries(names.map((name, at) => [name, cells[at]]))
  expect(of).toMatchObject({ honest: '3', likely: '100.0 (3)', unlikely: '0.0 (3)' })
  expect(of).toMatchObject({
    Q8_0: '0.0 (1)',
    Q4_0: '100.0 (1)',
    'half Q4_0': '100.0 (3)',
    F16: '-',
  })
  expect(of).toMatchObject({ apart: '0.0 (3)', 'apart Q4_0': '66.7 (3)' })
})

it('a line of prompts is a question, or a conversation', () => {
  expect(promptOfLine('Who? Or: why?').messages).toEqual([
    { role: 'user', content: 'Who? Or: why?' },
  ])
  expect(promptOfLine('system: Be brief: one word.|user: Why?').messages).toEqual([
    { role: 'system', content: 'Be brief: one word.' },
    { role: 'user', content: 'Why?' },
  ])
})
