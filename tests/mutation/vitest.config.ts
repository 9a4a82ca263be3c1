import { defineConfig } from 'vitest/config'
import { mutationTests, notForMutants } from './test-files.ts'

export default defineConfig({
  test: {
    include: [...mutationTests],
    exclude: [...notForMutants],
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
