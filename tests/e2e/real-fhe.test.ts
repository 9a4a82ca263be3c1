import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defaultKeysFolder } from '../../contracts/local/coprocessor/parameters.ts'
import { runCommand } from '../../lib/host/run-command.ts'

const root = join(import.meta.dirname, '..', '..')
const patienceMs = 20 * 60_000

// The short form is a job with executables as the nodes: tests/binary/real-fhe.test.ts.
const isLong = process.env.SVC_LONG_TESTS === '1'
const inLongForm = isLong ? it : it.skip

describe('npm run demo -- --fhe real', () => {
  inLongForm(
    `runs a job with real proofs, and tells how long each part of one took${isLong ? '' : ': runs with SVC_LONG_TESTS=1'}`,
    async () => {
      const script = join(root, 'scripts', 'bun.mjs')
      const { code, stdout, stderr } = await runCommand(
        ['node', script, 'demo/main.ts', '--fhe', 'real', '--json', 'Hello'],
        {
          cwd: root,
          env: {
            PATH: process.env.PATH,
            HOME: process.env.HOME,
            SVC_TOOLS_DIR: join(defaultKeysFolder(process.env), '..'),
          },
          timeoutMs: patienceMs,
        },
      )
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringContaining('protects nothing'),
      })
      const result = JSON.parse(stdout)
      expect(result).toMatchObject({ status: 'accepted', proof: { bytes: 19_194 } })
      const { prepare, prove, verify } = result.proof.steps_ms
      for (const ms of [prepare, prove, verify]) expect(ms).toBeGreaterThan(0)
      expect(prove).toBeLessThan(result.timings_ms['encrypt-key'])
    },
    patienceMs,
  )
})
