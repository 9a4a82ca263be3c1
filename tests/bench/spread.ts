/** The value below which a share (0 to 1) of some numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)] ?? Number.NaN
}

/** The middle, the 99th of a hundred, and the largest. */
export const spreadOf = (numbers: readonly number[]) => ({
  p50: quantile(numbers, 0.5),
  p99: quantile(numbers, 0.99),
  max: quantile(numbers, 1),
})
