import { defineConfig } from 'vitest/config'

/** What Stryker runs: tests of single parts in memory, without an ICL, a network or another process. */
export default defineConfig({
  test: {
    include: [
      'tests/icl/rules/**/*.test.ts',
      'tests/lib/*.test.ts',
      'tests/vectors/vectors.test.ts',
    ],
    exclude: [
      // Every state of a small world, and every byte of a receipt.
      'tests/icl/rules/every-state.test.ts',
      'tests/lib/receipt-bytes.test.ts',
      // An ICL; the vectors test the same function.
      'tests/lib/receipt.test.ts',
      // Another process, which has no network.
      'tests/lib/receipt-offline.test.ts',
    ],
    isolate: false,
    // A last resort, as tests/preload.ts has it: Stryker sets the limits of mutants.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
