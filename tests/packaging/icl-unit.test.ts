import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'

const timeoutMs = 240_000
const hasSystemd = await runCommand(['systemd-analyze', '--version'], { timeoutMs }).then(
  ({ code }) => code === 0,
  () => false,
)
// In CI a missing tool is a failure.
const cannot = !hasSystemd && process.env.CI !== 'true'

it.skipIf(cannot)(
  `the systemd unit of the ICL is one that systemd accepts, well confined${cannot ? ' (skipped: no systemd-analyze here)' : ''}`,
  async () => {
    const source = join(import.meta.dirname, '../../packaging/systemd/svc-icl.service')
    const unit = await readFile(source, 'utf8')
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
