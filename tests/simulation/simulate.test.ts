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
  { seed: 11, store: 'mirror' },
  { seed: 12, store: 'mirror' },
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

it('nodes that answer differently and die as they write make joiners, dissent and failed deliveries, and every promise is kept', async () => {
  const ways = [
    'accepted by a list of three',
    'accepted with a joiner',
    'accepted over dissent',
    'accepted from a later deliverer',
  ]

  const missing = new Set(ways)
  for (let seed = 20; missing.size > 0 && seed < 40; seed++) {
    const isSmallest = missing.has(ways[0]!)
    const { reached, violations } = await simulate(seed, {
      store: 'memory',
      change: (drawn) => ({
        ...{ ...drawn, cheats: [], nodes: isSmallest ? 3 : 5 },
        ...{ disagrees: 0.25, dies: 0.04, comparator: 'exact' },
      }),
    })
    expect(violations).toEqual([])
    for (const way of Object.keys(reached)) missing.delete(way)
  }
  expect([...missing]).toEqual([])
}, 600_000)

it('jobs that ask how likely their answers are have numbers, also of a dissent', async () => {
  const missing = new Set(['numbers opened', 'a dissent found likely'])
  for (let seed = 100; missing.size > 0 && seed < 115; seed++) {
    const { reached, violations } = await simulate(seed, {
      store: 'memory',
      change: (drawn) => ({
        ...{ ...drawn, cheats: [], nodes: 5, check: true },
        ...{ dies: 0.04, disagrees: 0.25, comparator: 'similar/2' },
      }),
    })
    expect(violations).toEqual([])
    for (const way of Object.keys(reached)) missing.delete(way)
  }
  expect([...missing]).toEqual([])
}, 600_000)

describe('seeds that once broke a promise', () => {
  for (const { seed, store, found } of regressions) {
    it(`keep it now: ${found} (seed ${seed}, ${store})`, async () => {
      expect((await simulate(seed, { store })).violations).toEqual([])
    }, 600_000)
  }
})
