import { expect, it } from 'vitest'
import { failuresOf } from './report.ts'
import { runFuzz } from './run.ts'

it('every endpoint keeps to the served document, whatever it is asked', async () => {
  const result = await runFuzz({ seed: 7, requests: 1_800 })
  expect(failuresOf(result)).toEqual([])
  expect(result.counts.totals().requests).toBeGreaterThanOrEqual(1_800)
}, 600_000)
