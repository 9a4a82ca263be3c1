import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'
import { testFolder } from '../test-folder.ts'

const timeoutMs = 240_000
const systemd = join(import.meta.dirname, '../../packaging/systemd')
const hasSystemd = await runCommand(['systemd-analyze', '--version'], { timeoutMs }).then(
  ({ code }) => code === 0,
  () => false,
)
// In CI a missing tool is a failure.
const cannot = !hasSystemd && process.env.CI !== 'true'

it.skipIf(cannot)(
  `the systemd unit of the ICL is one that systemd accepts, well confined${cannot ? ' (skipped: no systemd-analyze here)' : ''}`,
  async () => {
    const unit = await readFile(join(systemd, 'svc-icl.service'), 'utf8')
    // A SIGHUP, as logrotate sends it, stops the ICL with 0.
    expect(unit).toMatch(/^Restart=always$/m)
    const folder = testFolder()
    const file = join(folder, 'svc-icl.service')
    // It is checked that the program exists.
    await writeFile(file, unit.replace('/usr/local/bin/bun', process.execPath))
    const verify = ['systemd-analyze', 'verify', '--man=no', file] as const
    expect(await runCommand(verify, { timeoutMs })).toEqual({ code: 0, stdout: '', stderr: '' })
    const limit = ['security', '--offline=yes', '--threshold=20', file] as const
    const security = await runCommand(['systemd-analyze', ...limit], { timeoutMs })
    expect(security).toMatchObject({ code: 0 })
  },
)

it('svc-icl-as-service runs the program of the unit, as its user, with its settings', async () => {
  const unit = await readFile(join(systemd, 'svc-icl.service'), 'utf8')
  const [, program = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? []
  const folder = testFolder()
  await writeFile(join(folder, 'systemd-run'), '#!/bin/sh\nprintf "<%s>\n" "$@"\n')
  await chmod(join(folder, 'systemd-run'), 0o755)
  const command = [join(systemd, 'svc-icl-as-service'), 'admin', 'ban', 'it is $HOME'] as const
  const env = { PATH: `${folder}:${process.env.PATH}` }
  const { code, stdout } = await runCommand(command, { env, timeoutMs })
  expect(code).toBe(0)
  const words = [...program.split(' '), 'admin', 'ban', 'it is $HOME']
  expect(stdout.endsWith(['<-->', ...words.map((word) => `<${word}>`), ''].join('\n'))).toBe(true)
  for (const setting of ['DynamicUser', 'User', 'StateDirectory', 'EnvironmentFile', 'UMask']) {
    const [line] = new RegExp(`^${setting}=.+$`, 'm').exec(unit) ?? []
    expect(stdout).toContain(`<--property=${line}>`)
  }
})
