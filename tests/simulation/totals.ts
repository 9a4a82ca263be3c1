import type { Outcome } from './simulate.ts'

/** What many seeds came to. */
export type Totals = {
  readonly seeds: number
  readonly violations: number
  /** Seeds that broke a promise. */
  readonly failed: readonly number[]
  readonly virtualHours: number
  readonly requests: number
  readonly acknowledged: number
  readonly jobs: Readonly<Record<string, number>>
  readonly reached: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
}

export const noTotals: Totals = {
  seeds: 0,
  violations: 0,
  failed: [],
  virtualHours: 0,
  requests: 0,
  acknowledged: 0,
  jobs: {},
  reached: {},
  faults: {},
}

/** Adds one outcome up. */
export const withOutcome = (totals: Totals, outcome: Outcome): Totals => ({
  seeds: totals.seeds + 1,
  violations: totals.violations + outcome.violations.length,
  failed: outcome.violations.length === 0 ? totals.failed : [...totals.failed, outcome.seed],
  virtualHours: totals.virtualHours + outcome.virtualMs / 3_600_000,
  requests: totals.requests + outcome.requests,
  acknowledged: totals.acknowledged + outcome.acknowledged,
  jobs: sum(totals.jobs, outcome.jobs),
  reached: sum(totals.reached, outcome.reached),
  faults: sum(totals.faults, outcome.faults),
})

type Counts = Readonly<Record<string, number>>

function sum(one: Counts, other: Counts): Counts {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]))
}

/** The totals in words, several lines. */
export function describeTotals(totals: Totals): string {
  const list = (counts: Counts) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')
  return [
    `${totals.virtualHours.toFixed(1)} virtual hours, ${totals.requests} requests, ${totals.acknowledged} acknowledged changes`,
    `jobs: ${list(totals.jobs)}`,
    `of these: ${list(totals.reached)}`,
    `faults: ${list(totals.faults)}`,
  ].join('\n')
}
