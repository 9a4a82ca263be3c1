import { describe, expect, it } from 'vitest'
import { bootstrap, halfWidth, wilson } from '../../bench/comparators/statistics.ts'

describe('intervals of rates', () => {
  it('are those of Wilson for independent draws', () => {
    // Known values: 10 of 100.
    const { rate, low, high } = wilson(10, 100)
    expect(rate).toBe(0.1)
    expect(low).toBeCloseTo(0.0552, 4)
    expect(high).toBeCloseTo(0.1744, 4)
  })

  it('are never more certain than the draws allow', () => {
    expect(wilson(0, 50)).toMatchObject({ rate: 0, low: 0 })
    expect(wilson(0, 50).high).toBeCloseTo(0.0713, 3)
    expect(wilson(50, 50)).toMatchObject({ rate: 1, high: 1 })
    expect(wilson(0, 0)).toMatchObject({ low: 0, high: 1 })
  })

  it('are at most 3 points wide to either side with the number of answers that the bench draws', () => {
    expect(halfWidth(wilson(550, 1_100))).toBeLessThan(0.03)
  })

  it('are wider when the draws of a question go together', () => {
    const alone = Array.from({ length: 200 }, (_, at) => ({ hits: at % 2, of: 1 }))
    const together = Array.from({ length: 20 }, (_, at) => ({ hits: (at % 2) * 10, of: 10 }))
    expect(halfWidth(bootstrap(together))).toBeGreaterThan(2 * halfWidth(bootstrap(alone)))
    expect(halfWidth(bootstrap(alone))).toBeCloseTo(halfWidth(wilson(100, 200)), 1)
  })

  it('have a width where no question or every question hit', () => {
    const clusters = (hits: number) => Array.from({ length: 30 }, () => ({ hits, of: 4 }))
    expect(bootstrap(clusters(0))).toMatchObject({ rate: 0, low: 0, of: 120 })
    expect(bootstrap(clusters(0)).high).toBeCloseTo(wilson(0, 30).high, 6)
    expect(bootstrap(clusters(4)).low).toBeCloseTo(wilson(30, 30).low, 6)
  })
})
