/** The tests that are run for each mutant: of single parts, without a network, a chain or another process. */
export const mutationTests: readonly string[] = [
  'tests/lib/**/*.test.ts',
  'tests/icl/rules/**/*.test.ts',
]

/** Those of them that take too long to be run for every mutant, or start processes. */
export const notForMutants: readonly string[] = [
  // Every byte of a receipt is changed.
  'tests/lib/receipt-bytes.test.ts',
  // Another process, which has no network.
  'tests/lib/receipt-offline.test.ts',
  // Vendors' kits and servers that stand in for the network.
  'tests/lib/coprocessor/**',
  // How long hostile texts take.
  'tests/lib/comparators/hostile-text.test.ts',
  // Rates over thousands of pairs of answers, and the benchmark that prints them.
  'tests/lib/comparators/corpus-recorded.test.ts',
  'tests/lib/comparators/corpus-rates.test.ts',
  // Every state of a small world.
  'tests/icl/rules/every-state.test.ts',
]
