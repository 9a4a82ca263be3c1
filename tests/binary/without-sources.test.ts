import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'
import { version } from '../../lib/host/version.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { builtBinary, root } from './executable.ts'

// Covers the project with an empty file system, for this one process and what it starts.
const script = `
set -eu
mount -t tmpfs none "$ROOT"
test -z "$(ls -A "$ROOT")"
cd "$EMPTY"
env -i "$BINARY" --version
env -i "$BINARY" self-check
`

const unshare = async (): Promise<readonly [string, ...string[]] | undefined> => {
  // As root at once, as another user within a user namespace, where the kernel allows that.
  for (const flags of [['-m'], ['-rm']]) {
    const command = ['unshare', ...flags] as const
    const test = ['sh', '-c', 'mount -t tmpfs none /mnt']
    const { code } = await runCommand([...command, ...test], { timeoutMs: 50_000 }).catch(() => ({
      code: 1,
    }))
    if (code === 0) return command as unknown as [string, ...string[]]
  }
  return undefined
}

const command = await unshare()
// In CI a missing tool is a failure.
const cannot = command === undefined && process.env.CI !== 'true'

it.skipIf(cannot)(
  `svc-node where the sources and node_modules are not works${cannot ? ' (skipped: `unshare -m` and mounting are not allowed here)' : ''}`,
  async () => {
    if (command === undefined) throw new Error('`unshare -m` and mounting are not allowed here')
    const built = await builtBinary()
    await inEmptyFolder(async (folder) => {
      const empty = join(folder, 'empty')
      const binary = join(folder, 'svc-node')
      await mkdir(empty)
      await Bun.write(binary, Bun.file(built), { mode: 0o755 })
      const env = { PATH: process.env.PATH, ROOT: root, EMPTY: empty, BINARY: binary }
      const options = { env, timeoutMs: 50_000 }
      const { code, stdout, stderr } = await runCommand([...command, 'sh', '-c', script], options)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(new RegExp(`^${RegExp.escape(version)}\\n`))
      expect(stdout).toContain('fhe    ok, in a worker')
    })
  },
)
