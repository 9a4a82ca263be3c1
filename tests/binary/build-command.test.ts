import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../lib/host/run-command.ts'
import { readBuildInfo } from '../../scripts/build-node/build-info.ts'
import { checkIntegrity } from '../../scripts/build-node/bun-runtime.ts'
import { currentBinary } from '../../scripts/build-node/current-binary.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { builtBinary, root } from './executable.ts'

const main = join(root, 'scripts', 'build-node', 'main.ts')
const hereTarget = `${process.platform}-${process.arch}`

// Nothing listens there: whatever is not on this machine cannot be had.
const offline = { npm_config_registry: 'http://127.0.0.1:9', npm_config_fetch_retries: '0' }

const build = (...args: string[]) =>
  runCommand([process.execPath, '--no-env-file', main, ...args], {
    env: { ...process.env, ...offline },
    timeoutMs: 120_000,
  })

const sha256 = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex')

describe('npm run build:node', () => {
  it.each([
    [['--all', '--target', 'linux-x64'], 'exclude one another'],
    [['--commit', 'a b'], '--commit takes'],
  ])('ends with 2 on %j', async (args, message) => {
    expect(await build(...args)).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining(message) },
    })
  })

  it('builds what it can, names what it cannot and why, and leaves nothing old or half-made', async () => {
    await inEmptyFolder(async (folder) => {
      const out = join(folder, 'out')
      const cache = join(folder, 'cache')
      await mkdir(out)
      await mkdir(cache)
      await writeFile(join(out, 'svc-node-windows-x64.exe'), 'an old one')
      const changed = join(cache, `oven-bun-darwin-x64-${Bun.version}.tgz`)
      await writeFile(changed, 'changed')
      const asked = [hereTarget, 'windows-x64', 'darwin-x64'].flatMap((name) => ['--target', name])
      const { code, stdout, stderr } = await build(
        ...asked,
        ...['--out', out, '--cache', cache, '--commit', 'abc123', '--json'],
      )
      expect(code).toBe(1)
      const { commit, built, failed } = JSON.parse(stdout)
      expect(commit).toBe('abc123')
      expect(built.map(({ target }: { target: string }) => target)).toEqual([hereTarget])
      expect(failed).toEqual([
        { target: 'darwin-x64', reason: expect.stringContaining('package-lock.json') },
        { target: 'windows-x64', reason: expect.stringContaining('ECONNREFUSED') },
      ])
      expect(stderr).toContain('2 of 3 could not be built.')
      const name = `svc-node-${hereTarget}`
      expect((await readdir(out)).sort()).toEqual(['SHA256SUMS', name])
      const sum = await sha256(join(out, name))
      expect(await readFile(join(out, 'SHA256SUMS'), 'utf8')).toBe(`${sum}  ${name}\n`)
      expect(built[0].sha256).toBe(sum)
      // A download that was tampered with is not tried a second time.
      expect(await readdir(cache)).toEqual([])
    })
  })

  it('makes the same bytes of the same sources', async () => {
    await inEmptyFolder(async (folder) => {
      const sums = []
      for (const name of ['one', 'two']) {
        const out = join(folder, name)
        const { code } = await build('--out', out, '--commit', 'abc123')
        expect(code).toBe(0)
        expect(await readdir(out)).toEqual(['svc-node'])
        sums.push(await sha256(join(out, 'svc-node')))
      }
      expect(sums[0]).toBe(sums[1])
    })
  })
})

describe('a build that is there already', () => {
  it('is used while it is of these sources', async () => {
    const path = await builtBinary()
    let stale = false
    const again = await currentBinary(root, async () => {
      stale = true
    })
    expect({ again, stale }).toEqual({ again: path, stale: false })
  })

  it('is not taken for ours when it is something else', async () => {
    expect(await readBuildInfo(process.execPath)).toBeUndefined()
    expect(await readBuildInfo(join(root, 'package.json'))).toBeUndefined()
    expect(await readBuildInfo(join(root, 'nowhere'))).toBeUndefined()
  })
})

it('the integrity of a runtime is the one of package-lock.json or it is refused', () => {
  const bytes = Buffer.from('a package')
  const sum = createHash('sha512').update(bytes).digest('base64')
  expect(() => checkIntegrity(bytes, `sha512-${sum}`)).not.toThrow()
  expect(() => checkIntegrity(Buffer.from('another'), `sha512-${sum}`)).toThrow('package-lock.json')
})
