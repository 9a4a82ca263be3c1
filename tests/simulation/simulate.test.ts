import { describe, expect, it } from 'vitest'
import { regressions } from './regressions.ts'
import { simulate } from './simulate.ts'

const seeds = [
  { seed: 1, store: 'memory' },
  { seed: 2, store: 'memory' },
  { seed: 3, store: 'memory' },
  { seed: 4, store: 'sqlite' },
  { seed: 5, store: 'memory' },
  { seed: 6, store: 'sqlite' },
] as const

describe('a simulated service with real daemons and clients', () => {
  for (const { seed, store } of seeds) {
    it(`keeps its promises (seed ${seed}, ${store})`, async () => {
      const { violations, acknowledged, jobs } = await simulate(seed, { store })
      expect(violations).toEqual([])
      expect(acknowledged).toBeGreaterThan(10)
      expect(Object.keys(jobs)).not.toEqual([])
    }, 600_000)
  }
})

describe('seeds that once broke a promise', () => {
  for (const { seed, store, found } of regressions) {
    it(`keep it now: ${found} (seed ${seed}, ${store})`, async () => {
      expect((await simulate(seed, { store })).violations).toEqual([])
    }, 600_000)
  }
})
