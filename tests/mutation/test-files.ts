/** The tests that are run for each mutant: of single parts, without a network, a chain or another process. */
export const mutationTests: readonly string[] = [
  'tests/lib/**/*.test.ts',
  'tests/icl/rules/**/*.test.ts',
]

/** Those of them that take too long to be run for every mutant, or start processes. */
export const notForMutants: readonly string[] = [
  // Every byte of a receipt is changed.
  'tests/lib/receipt-bytes.test.ts',
  // An ICL, which the runner starts anew for each test; `receipt-checks` tests the same function.
  'tests/lib/receipt.test.ts',
  // Servers that have 200 ms for an answer, which a busy machine does not give them; `gateway-rounds` needs none.
  'tests/lib/blobs/gateways.test.ts',
  // A chain, and what `lib/chain` does with it, which is not mutated.
  'tests/lib/chain/**',
  // Another process, which has no network.
  'tests/lib/receipt-offline.test.ts',
  // Vendors' kits and servers that stand in for the network.
  'tests/lib/coprocessor/**',
  // How long hostile texts take.
  'tests/lib/comparators/hostile-text.test.ts',
  // Rates over thousands of pairs of answers, the benchmark that prints them, and what makes the pairs.
  'tests/lib/comparators/corpus*.test.ts',
  // Every state of a small world.
  'tests/icl/rules/every-state.test.ts',
]
