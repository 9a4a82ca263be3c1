import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { testFolder } from '../test-folder.ts'

type Installed = {
  readonly isInstalled: (root: string) => boolean
  readonly isLinked: (root: string) => boolean
  readonly markInstalled: (root: string) => void
}
type SetupLock = {
  readonly withLock: <T>(
    path: string,
    body: () => Promise<T>,
    tell?: (pid: number) => void,
  ) => Promise<T>
}

type NodeBinary = {
  readonly describeOldNode: (file: string) => string
  readonly findNode: (
    root: string,
    process: { readonly features: { readonly typescript?: string }; readonly execPath: string },
  ) => string | undefined
}

const urlOf = (name: string) => new URL(`../../scripts/${name}.mjs`, import.meta.url).href
const { isInstalled, isLinked, markInstalled } = (await import(urlOf('installed'))) as Installed
const { describeOldNode, findNode } = (await import(urlOf('node-binary'))) as NodeBinary
const { withLock } = (await import(urlOf('setup-lock'))) as SetupLock

let root = ''
beforeEach(async () => {
  root = testFolder()
})

describe('whether the packages are installed', () => {
  const lock = () => join(root, 'package-lock.json')
  const npmWas = (secondsLater: number) => async () => {
    const file = join(root, 'node_modules', '.package-lock.json')
    await writeFile(file, '{}')
    const at = Date.now() / 1000 + secondsLater
    await utimes(file, at, at)
  }
  beforeEach(async () => {
    await mkdir(join(root, 'node_modules'))
    await writeFile(lock(), '{"packages":1}')
  })

  it('goes by what is in package-lock.json, not by its time', async () => {
    expect(isInstalled(root)).toBe(false)
    markInstalled(root)
    expect(isInstalled(root)).toBe(true)
    const later = Date.now() / 1000 + 100
    await utimes(lock(), later, later)
    expect(isInstalled(root)).toBe(true)
    await writeFile(lock(), '{"packages":2}')
    await npmWas(200)()
    expect(isInstalled(root)).toBe(false)
  })

  it('takes what npm has installed by itself since, and notes it', async () => {
    await npmWas(-100)()
    expect(isInstalled(root)).toBe(false)
    await npmWas(100)()
    expect(isInstalled(root)).toBe(true)
    expect(existsSync(join(root, 'node_modules', '.svc-lock-hash'))).toBe(true)
  })

  it('tells a link from a folder', async () => {
    expect(isLinked(root)).toBe(false)
    const other = join(root, 'other')
    await mkdir(other)
    expect(isLinked(other)).toBe(false)
    await symlink(join(root, 'node_modules'), join(other, 'node_modules'))
    expect(isLinked(other)).toBe(true)
  })
})

describe('a file that needs a Node that takes TypeScript', () => {
  const older = { features: {}, execPath: '/old/node' }

  it('runs on the Node that runs, else on the one that npm installed, else on none', async () => {
    const newer = { features: { typescript: 'strip' }, execPath: '/new/node' }
    expect([findNode(root, newer), findNode(root, older)]).toEqual(['/new/node', undefined])
    const bin = join(root, 'node_modules', '.bin')
    await mkdir(bin, { recursive: true })
    await writeFile(join(bin, 'node'), '')
    expect(findNode(root, older)).toBe(join(bin, 'node'))
  })

  it('names the version that it needs and the one that runs', () => {
    expect(describeOldNode('a.ts')).toMatch(
      /^a\.ts needs Node 22\.18 or newer, and this is Node \d/,
    )
  })
})

describe('the lock of the setup', () => {
  const path = () => join(root, 'x.lock')

  it('is held by one process at a time, and nothing stays of it', async () => {
    const log = join(root, 'log')
    const source = `
      const { withLock } = await import('${urlOf('setup-lock')}')
      const { appendFileSync } = await import('node:fs')
      await withLock('${path()}', async () => {
        appendFileSync('${log}', 'in ')
        await new Promise((resolve) => setTimeout(resolve, 50))
        appendFileSync('${log}', 'out ')
      })`
    const codes = Array.from({ length: 5 }, () => {
      const args = ['--input-type=module', '-e', source]
      const child = spawn('node', args, { stdio: 'inherit' })
      return new Promise((resolve) => child.once('close', resolve))
    })
    expect(await Promise.all(codes)).toEqual([0, 0, 0, 0, 0])
    expect(await readFile(log, 'utf8')).toBe('in out '.repeat(5))
    expect(await readdir(root)).toEqual(['log'])
  })

  for (const content of ['4194305', '', 'nobody']) {
    it(`is taken over when it says ${JSON.stringify(content)}, which nobody is`, async () => {
      await writeFile(path(), content)
      expect(await withLock(path(), async () => 'done')).toBe('done')
      expect(await readdir(root)).toEqual([])
    })
  }

  it('is given back when the work fails', async () => {
    const failing = withLock(path(), () => Promise.reject(new Error('no network')))
    await expect(failing).rejects.toThrow('no network')
    expect(await readdir(root)).toEqual([])
  })
})
