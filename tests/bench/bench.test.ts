import { describe, expect, it } from 'vitest'
import { benchmarkNames, benchmarks } from './all.ts'

const isBun = process.versions.bun !== undefined

describe('the benchmarks', () => {
  // They start Bun's servers and sockets.
  for (const name of isBun ? benchmarkNames : []) {
    it(`${name} runs in its tiny form and gives tables and numbers`, async () => {
      const { tables, figures, goals, plots, method } = await benchmarks[name].run('tiny', () => {})
      expect(method).not.toBe('')
      expect(tables.length).toBeGreaterThan(0)
      for (const { rows } of tables) {
        expect(rows.length).toBeGreaterThan(1)
        for (const row of rows) expect(row.length).toBe(rows[0]!.length)
      }
      expect(Object.values(figures).filter((value) => !Number.isFinite(value))).toEqual([])
      for (const { found } of goals) expect(Number.isFinite(found)).toBe(true)
      for (const { svg } of plots) expect(svg.startsWith('<svg ')).toBe(true)
    }, 120_000)
  }
})
