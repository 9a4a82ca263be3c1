import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chanceOfFalseAnswer, chanceOfLeak, collusionRows } from './collusion.ts'

describe('the chances of colluding nodes', () => {
  it('are those of the formulas', () => {
    for (const share of [0, 0.05, 0.3, 0.5, 1]) {
      const exact = { comparator: 'exact', honest: 'no-match' } as const
      expect(chanceOfFalseAnswer(share, exact)).toBeCloseTo(share ** 3 * (3 - 2 * share), 12)
      const worst = { comparator: 'similar/2', honest: 'inconclusive' } as const
      expect(chanceOfFalseAnswer(share, worst)).toBeCloseTo(share * (1 - (1 - share) ** 5), 12)
      expect(chanceOfLeak(share)).toBeCloseTo(1 - (1 - share) ** 3, 12)
    }
  })

  it('are those that the docs tell', () => {
    const docs = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8')
    const told = docs.split('\n').map((line) => line.replace(/ +/g, ' '))
    for (const row of collusionRows()) expect(told).toContain(row)
  })
})
