import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { version } from '../../lib/host/version.ts'
import { commitOf } from '../../scripts/build-node/commit.ts'
import { hashSources } from '../../scripts/build-node/source-hash.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { builtBinary, root, runBare } from './executable.ts'

let binary = ''
beforeAll(async () => {
  binary = await builtBinary()
}, 300_000)

const run = (...args: string[]) => inEmptyFolder((folder) => runBare([binary, ...args], folder))

const initFlags = [
  'init',
  ...['--icl-endpoint', 'http://127.0.0.1:9'],
  ...['--cofhe-endpoint', 'http://127.0.0.1:9'],
  ...['--models', 'openai:gpt-4o-mini'],
  ...['--scrypt-n', '4096'],
  '--json',
]

describe('svc-node as one file, in an empty folder and an empty environment', () => {
  it('prints the bare version', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('makes a configuration and a keystore, and refuses to run unattested', async () => {
    await inEmptyFolder(async (home) => {
      const env = { SVC_CONFIG_PATH: join(home, 'config.json'), SVC_KEY_PASSWORD: 'a password' }
      const made = await runBare([binary, ...initFlags], home, env)
      expect(made).toMatchObject({ code: 0, stderr: '' })
      const { address, keystore } = JSON.parse(made.stdout)
      expect(JSON.parse(await readFile(keystore, 'utf8')).address).toBe(address.slice(2))
      const again = await runBare([binary, ...initFlags], home, env)
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already') })
      const unattested = await runBare([binary, 'run'], home, env)
      expect(unattested.code).toBe(1)
      expect(unattested.stdout + unattested.stderr).toContain('attest')
    })
  })

  it('runs the embedded FHE code in its worker', async () => {
    const { code, stdout, stderr } = await run('self-check', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ version, fhe_ms: expect.any(Number) })
  })

  it('carries the commit and the hash of the sources that it was built from', async () => {
    const { stdout } = await run('self-check', '--build', '--json')
    const { commit, source_hash } = JSON.parse(stdout)
    expect(source_hash).toBe(await hashSources(root))
    const [head = ''] = (await commitOf(root)).split('-')
    // The same sources may have been built before a commit that changed other files.
    expect(commit).toMatch(head === 'unknown' ? /^unknown$/ : /^[0-9a-f]{40}(-dirty)?$/)
  })

  it('has no path of the machine that built it', async () => {
    const bytes = await readFile(binary)
    expect(bytes.includes(join(root, 'node_modules'))).toBe(false)
    expect(bytes.includes(join(root, 'node'))).toBe(false)
    // The search finds what is there.
    expect(bytes.includes('/$bunfs/root/prove-worker.js')).toBe(true)
  })

  it('needs nothing but its own file', async () => {
    await inEmptyFolder(async (folder) => {
      await copyFile(binary, join(folder, 'svc-node'))
      const { code, stderr } = await runBare([join(folder, 'svc-node'), 'self-check'], folder)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(await readdir(folder)).toEqual(['svc-node'])
    })
  })
})

describe('what lies in the working directory', () => {
  // Each would change what runs: settings in .env, a preloaded file in bunfig.toml, its code in trap.ts.
  const setTrap = async (folder: string): Promise<void> => {
    await writeFile(
      join(folder, '.env'),
      'SVC_ICL_ENDPOINT=http://127.0.0.1:1\nSVC_COFHE_ENDPOINT=http://127.0.0.1:1\nSVC_SUPPORTED_MODEL_IDS=openai:x\n',
    )
    await writeFile(join(folder, 'bunfig.toml'), 'preload = ["./trap.ts"]\n')
    await writeFile(join(folder, 'trap.ts'), "process.stderr.write('trapped\\n')\n")
  }

  it('is not read', async () => {
    await inEmptyFolder(async (folder) => {
      await setTrap(folder)
      const { code, stderr } = await runBare([binary, 'init'], folder)
      expect(code).toBe(1)
      expect(stderr).toContain('SVC_ICL_ENDPOINT')
      expect(stderr).not.toContain('trapped')
    })
  })

  it('would be read by an executable that was compiled without care', async () => {
    await inEmptyFolder(async (folder) => {
      const source = join(folder, 'careless.ts')
      const outfile = join(folder, 'careless')
      await writeFile(source, 'console.log(process.env.SVC_ICL_ENDPOINT)')
      await Bun.build({ entrypoints: [source], target: 'bun', compile: { outfile } })
      await setTrap(folder)
      const { stdout, stderr } = await runBare([outfile], folder)
      expect(stdout).toBe('http://127.0.0.1:1\n')
      expect(stderr).toContain('trapped')
    })
  })
})
