import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { builtBinary, root } from './executable.ts'

it('npm run demo -- --binary runs a job with executables as the nodes and says so', async () => {
  await builtBinary()
  await inEmptyFolder(async (folder) => {
    const script = join(root, 'scripts', 'bun.mjs')
    const demo = ['node', script, 'demo/main.ts', '--binary', '--json', 'Hello'] as const
    const env = { PATH: process.env.PATH, HOME: folder, TMPDIR: folder }
    const { code, stdout, stderr } = await runCommand(demo, {
      cwd: root,
      env,
      timeoutMs: 200_000,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('match') })
    expect(JSON.parse(stdout)).toMatchObject({ status: 'accepted' })
    expect(stderr).toContain(`The nodes run ${join('dist', 'svc-node')}`)
    expect(stderr).not.toContain('Building')
  })
})
