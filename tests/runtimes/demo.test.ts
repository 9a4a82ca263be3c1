import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { programOf } from '../../demo/runtime-programs.ts'

const run = promisify(execFile)
const main = join(import.meta.dirname, '..', '..', 'demo', 'main.ts')

describe('the demo', () => {
  // With Bun it is run elsewhere.
  for (const runtime of ['node', 'deno', 'workerd'] as const) {
    const missing = programOf(runtime) === undefined ? `${runtime} is not installed` : undefined
    if (missing && process.env.CI === 'true') throw new Error(missing)
    if (missing) {
      it.skip(missing, () => {})
      continue
    }
    it(`runs with the ICL on ${runtime}`, async () => {
      const { stdout } = await run(
        programOf('bun') ?? '',
        [
          '--no-env-file',
          main,
          '--binary',
          '--icl',
          runtime,
          '--json',
          'Name a use of a lighthouse.',
        ],
        { timeout: 170_000, env: { PATH: process.env.PATH, SVC_STOP_WITH_PARENT: '1' } },
      )
      const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
      expect(result).toMatchObject({ status: 'accepted' })
      expect(result.commit_tx).toMatch(/^0x[0-9a-f]{64}$/)
      expect(result.verdicts.map(({ verdict }: { verdict: string }) => verdict)).toEqual([
        'match',
        'match',
      ])
    })
  }
})
