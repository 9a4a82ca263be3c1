import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

describe('npm run infer', () => {
  it('takes what follows -- as the prompt, also when nothing stands before it', () => {
    const { SVC_ICL_ENDPOINT: _, ...env } = process.env
    const command = ['scripts/bun.mjs', 'client/infer/main.ts', '--', '-x']
    const { status, stderr } = spawnSync('node', command, { env, encoding: 'utf8' })
    // Options are read before settings.
    expect(stderr).toContain('SVC_ICL_ENDPOINT: is missing')
    expect(status).toBe(1)
  })
})
