import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chanceOfFalseAnswer, chanceOfLeak, collusionRows } from './collusion.ts'

/** How likely at least `least` of `count` nodes collude. */
const atLeast = (least: number, count: number, share: number): number => {
  let sum = 0
  for (let mask = 0; mask < 1 << count; mask++) {
    const colluding = [...mask.toString(2)].filter((bit) => bit === '1').length
    if (colluding >= least) sum += share ** colluding * (1 - share) ** (count - colluding)
  }
  return sum
}

describe('the chances of colluding nodes', () => {
  it('are those of the formulas', () => {
    for (const share of [0, 0.05, 0.3, 0.5, 1]) {
      expect(chanceOfFalseAnswer(share, 'three', 'agree')).toBeCloseTo(atLeast(3, 5, share), 12)
      expect(chanceOfFalseAnswer(share, 'any-two', 'agree')).toBeCloseTo(atLeast(2, 3, share), 12)
      expect(chanceOfFalseAnswer(share, 'three', 'differ')).toBeCloseTo(atLeast(3, 7, share), 12)
      expect(chanceOfFalseAnswer(share, 'any-two', 'differ')).toBeCloseTo(atLeast(2, 5, share), 12)
      expect(chanceOfLeak(share)).toBeCloseTo(1 - (1 - share) ** 3, 12)
    }
  })

  it('are those that the docs tell', () => {
    const docs = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8')
    const told = docs.split('\n').map((line) => line.replace(/ +/g, ' '))
    for (const row of collusionRows()) expect(told).toContain(row)
  })
})
