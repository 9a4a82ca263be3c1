import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { builtBinary, root } from './executable.ts'

const packaging = join(root, 'packaging')
const timeoutMs = 240_000
const readText = (...path: string[]) => readFile(join(packaging, ...path), 'utf8')

const hasSystemd = await runCommand(['systemd-analyze', '--version'], { timeoutMs }).then(
  ({ code }) => code === 0,
  () => false,
)
// In CI a missing tool is a failure.
const cannot = !hasSystemd && process.env.CI !== 'true'

describe('the systemd unit', () => {
  let unit = ''
  beforeAll(async () => {
    unit = await readText('systemd', 'svc-node.service')
  })

  it.skipIf(cannot)(
    `is one that systemd accepts, well confined${cannot ? ' (skipped: no systemd-analyze here)' : ''}`,
    async () => {
      const binary = await builtBinary()
      await inEmptyFolder(async (folder) => {
        const file = join(folder, 'svc-node.service')
        // It is checked that the program exists.
        await writeFile(file, unit.replace('/usr/local/bin/svc-node', binary))
        const verify = ['systemd-analyze', 'verify', '--man=no', file] as const
        expect(await runCommand(verify, { timeoutMs })).toEqual({ code: 0, stdout: '', stderr: '' })
        const dropIns = join(folder, 'svc-node.service.d')
        await cp(join(packaging, 'systemd', 'svc-node.service.d'), dropIns, { recursive: true })
        expect(await runCommand(verify, { timeoutMs })).toEqual({ code: 0, stdout: '', stderr: '' })
        const limit = ['security', '--offline=yes', '--threshold=20', file] as const
        expect(await runCommand(['systemd-analyze', ...limit], { timeoutMs })).toMatchObject({
          code: 0,
          // The process for proofs lowers its own.
          stdout: expect.stringContaining('setpriority is allowed'),
        })
        // What systemd does not know, it says.
        await writeFile(file, `${unit}\n[Service]\nNoSuchSetting=yes\n`)
        expect((await runCommand(verify, { timeoutMs })).stderr).toContain('NoSuchSetting')
      })
    },
  )
})

it('svc-node-as-service passes the arguments on as they are, with the password from the credential', async () => {
  await inEmptyFolder(async (folder) => {
    // Stands in for systemd: runs what is behind `--`.
    const standIn = `#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\nCREDENTIALS_DIRECTORY=/run/credentials exec "$@"\n`
    const program = `#!/bin/sh\nprintf '<%s>' "$SVC_KEY_PASSWORD_FILE" "$@"\n`
    const script = (await readText('systemd', 'svc-node-as-service')).replace(
      '/usr/local/bin/svc-node',
      join(folder, 'svc-node'),
    )
    for (const [name, text] of [
      ['systemd-run', standIn],
      ['svc-node', program],
      ['as-service', script],
    ] as const) {
      await writeFile(join(folder, name), text)
      await chmod(join(folder, name), 0o755)
    }
    const command = [join(folder, 'as-service'), 'init', '--models', "it's a; $HOME"] as const
    const env = { PATH: `${folder}:${process.env.PATH}` }
    expect(await runCommand(command, { env, timeoutMs })).toEqual({
      code: 0,
      stdout: "</run/credentials/password><init><--models><it's a; $HOME>",
      stderr: '',
    })
  })
})

/** What a container file copies from the project's folder. */
const copiedBy = (containerfile: string): readonly string[] =>
  containerfile
    .split('\n')
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) =>
      line
        .split(' ')
        .slice(1, -1)
        .filter((word) => !word.startsWith('--')),
    )

it('the container files give the ICL all that it needs', async () => {
  const copied = copiedBy(await readText('containers', 'icl.Containerfile'))
  const ignored = await readText('containers', 'icl.Containerfile.dockerignore')
  const allowed = ignored.trim().split('\n').slice(1)
  expect(new Set(allowed.map((line) => line.slice(1)))).toEqual(new Set(copied))
  await inEmptyFolder(async (folder) => {
    const app = join(folder, 'app')
    await mkdir(app)
    for (const path of copied) await cp(join(root, path), join(app, path), { recursive: true })
    await symlink(join(root, 'node_modules'), join(app, 'node_modules'))
    const command = [process.execPath, '--no-env-file', 'icl/start/bun.ts', '--help'] as const
    const { code, stdout } = await runCommand(command, { cwd: app, env: {}, timeoutMs })
    expect(code).toBe(0)
    expect(stdout).toContain('SVC_ICL_PORT')
  })
})
