import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../node/build/run-command.ts'
import { iclSettings, readPackaging } from './manifests.ts'

const timeoutMs = 60_000
const hasSystemd = await runCommand(['systemd-analyze', '--version'], { timeoutMs }).then(
  ({ code }) => code === 0,
  () => false,
)
// In CI a missing tool is a failure.
const cannot = !hasSystemd && process.env.CI !== 'true'

describe('the systemd unit of the ICL', () => {
  it.skipIf(cannot)(
    `is one that systemd accepts, well confined${cannot ? ' (skipped: no systemd-analyze here)' : ''}`,
    async () => {
      const unit = await readPackaging('systemd', 'svc-icl.service')
      const folder = await mkdtemp(join(tmpdir(), 'svc-unit-test-'))
      try {
        const file = join(folder, 'svc-icl.service')
        // It is checked that the program exists.
        await writeFile(file, unit.replace('/usr/local/bin/bun', process.execPath))
        const verify = ['systemd-analyze', 'verify', '--man=no', file] as const
        expect(await runCommand(verify, { timeoutMs })).toEqual({ code: 0, stdout: '', stderr: '' })
        const limit = ['security', '--offline=yes', '--threshold=20', file] as const
        const security = await runCommand(['systemd-analyze', ...limit], { timeoutMs })
        expect(security).toMatchObject({ code: 0 })
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  )

  it('starts the ICL with settings that there are, and only those of the operator besides', async () => {
    const unit = await readPackaging('systemd', 'svc-icl.service')
    expect(unit).toContain('ExecStart=/usr/local/bin/bun --no-env-file /opt/svc/icl/start/bun.ts\n')
    const names = [...unit.matchAll(/^Environment=(SVC_\w+)=/gm)].map(([, name]) => name)
    expect(names).toEqual(['SVC_ICL_JOURNAL_DIR'])
    for (const name of names) expect(iclSettings.all).toContain(name)
    expect(unit).toContain('\nEnvironmentFile=/etc/svc-icl/environment\n')
    for (const name of ['BUN_BE_BUN', 'BUN_OPTIONS', 'BUN_INSPECT', 'LD_PRELOAD']) {
      expect(unit).toMatch(new RegExp(`^UnsetEnvironment=.*\\b${name}\\b`, 'm'))
    }
  })
})
