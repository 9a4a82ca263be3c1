import { expect, it } from 'vitest'
import { measureTeacher, recordedTeacher, rocOf, teacherText } from './teacher.ts'

it('the numbers of a text under n-gram models tell another model, a splice and a node that asks a cheaper one, at the length of a paragraph', async () => {
  const rows = await measureTeacher(12, [100])
  const of = Object.fromEntries(rows.map((row) => [row.kind, row.of]))
  expect(of['other order']?.['mean gap']?.auc).toBeGreaterThan(0.95)
  expect(of.spliced?.['worst quarter']?.auc).toBeGreaterThan(0.95)
  expect(of.lazy?.distance?.auc).toBeGreaterThan(0.95)
  expect(of['rounded 0.5']?.distance?.auc).toBeGreaterThan(0.95)
  expect(teacherText(rows, 12)).toMatch(/100\s+spliced/)
})

it('the numbers are the same each time', async () => {
  expect(await measureTeacher(2, [20])).toEqual(await measureTeacher(2, [20]))
})

it('recorded log-probabilities tell what the model makes of its own runs and of another model', async () => {
  const row = (short: number) => ({
    ...{ logprob: -0.1 - short, top: [['yes', -0.1] as [string, number]] },
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
