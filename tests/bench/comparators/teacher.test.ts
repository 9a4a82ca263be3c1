import { describe, expect, it } from 'vitest'
import { measureTeacher, rocOf, teacherText } from './teacher.ts'

describe('the numbers of a text under n-gram models', () => {
  it('tell another model, a splice and a node that asks a cheaper one, at the length of a paragraph', async () => {
    const rows = await measureTeacher(12, [100])
    const of = Object.fromEntries(rows.map((row) => [row.kind, row.of]))
    expect(of['other order']?.['mean gap']?.auc).toBeGreaterThan(0.95)
    expect(of.spliced?.['worst quarter']?.auc).toBeGreaterThan(0.95)
    expect(of['lazy, by distance']?.distance?.auc).toBeGreaterThan(0.95)
    expect(await measureTeacher(12, [100])).toEqual(rows)
    expect(teacherText(rows, 12)).toMatch(/100\s+spliced/)
  }, 60_000)
})

describe('a curve', () => {
  it('counts ties half, and lets one false alarm of a hundred pass', () => {
    expect(rocOf([1, 2], [1, 3]).auc).toBe((0.25 + 1) / 2)
    const honest = Array.from({ length: 100 }, (_, at) => at)
    expect(rocOf(honest, [98, 98.5, 200]).found).toBeCloseTo(2 / 3)
    expect(rocOf([1, 1], [1, 1])).toEqual({ auc: 0.5, found: 0 })
  })
})
