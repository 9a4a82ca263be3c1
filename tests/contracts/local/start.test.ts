import { spawn } from 'node:child_process'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { placeLocalTaskManager } from '../../../contracts/local/cofhe.ts'
import { openCiphertexts } from '../../../contracts/local/coprocessor/ciphertexts.ts'
import { hasKeys, readKey, writeKeys } from '../../../contracts/local/coprocessor/key-files.ts'
import { coprocessorOptions } from '../../../contracts/local/coprocessor/options.ts'
import { defaultKeysFolder } from '../../../contracts/local/coprocessor/parameters.ts'
import { runCommand } from '../../../lib/host/run-command.ts'
import { until } from '../../eventually.ts'
import { isRunning } from '../../lib/host/coprocessor/processes.ts'
import { testFolder } from '../../test-folder.ts'
import { childrenOf } from './children.ts'

let folder = ''
beforeEach(async () => {
  folder = testFolder()
})

const main = join(import.meta.dirname, '../../../contracts/local/coprocessor/main.ts')
const needed = { rpcUrl: 'http://127.0.0.1:8545', data: 'somewhere' }

const run = (...args: readonly string[]) =>
  runCommand([process.execPath, '--no-env-file', main, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    timeoutMs: 30_000,
  })

describe('the command line of the local coprocessor', () => {
  it('listens for this machine only, on any free port, for the known chain id', () => {
    expect(coprocessorOptions.parse(needed)).toMatchObject({
      ...{ host: '127.0.0.1', port: 0, chainId: 420_105 },
    })
    expect(defaultKeysFolder({ SVC_TOOLS_DIR: '/tools' })).toMatch(/[\\/]tools[\\/]cofhe-keys-/)
  })

  it('refuses an address that others reach, unless told that it protects nothing', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.2', 'example.org', '127.0.0.1.example.org']) {
      const given = { ...needed, host }
      expect(() => coprocessorOptions.parse(given)).toThrow('--i-know-it-protects-nothing')
      const knowing = { ...given, iKnowItProtectsNothing: true }
      expect(coprocessorOptions.parse(knowing)).toMatchObject({ host })
    }
  })

  it.each([
    [{ chainId: '31337' }, 'mock mode'],
    [{ rpcUrl: 'ftp://x' }, 'http or https'],
  ])('refuses %j', (given, why) => {
    expect(() => coprocessorOptions.parse({ ...needed, ...given })).toThrow(why)
  })

  it('ends with 2 for a mistake, and says that it is for development when asked', async () => {
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('--data') })
    expect(await run('--help')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('FOR DEVELOPMENT ONLY'),
    })
  })

  it('ends with 1 on the RPC of another chain', async () => {
    const anvil = await startAnvil({ chainId: 5 })
    try {
      const { code, stderr } = await run('--rpc-url', anvil.rpcUrl, '--data', folder)
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining('the RPC is of chain 5, not of 420105'),
      })
    } finally {
      await anvil.stop()
    }
  })
})

describe.skipIf(process.platform === 'win32')('a coprocessor that is making keys', () => {
  it('leaves neither a process nor half of the keys behind when it is told to end', async () => {
    const anvil = await startAnvil({ chainId: 420_105 })
    const keys = join(folder, 'keys')
    const args = ['--rpc-url', anvil.rpcUrl, '--data', folder, '--keys', keys]
    const child = spawn(process.execPath, ['--no-env-file', main, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder },
    })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    try {
      await new Promise<void>((resolve, reject) => {
        child.stdout.on('data', (text) => String(text).includes('Making keys') && resolve())
        child.once('exit', () => reject(new Error('it ended too early')))
      })
      const workers = childrenOf(child.pid ?? 0)
      expect(workers).toHaveLength(1)
      child.kill('SIGTERM')
      expect(await exited).toBe(0)
      for (const worker of workers) await until(async () => !(await isRunning(worker)))
      expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/^keys/))
    } finally {
      child.kill('SIGKILL')
      await anvil.stop()
    }
  })
})

describe('keys', () => {
  const bytes = (fill: number) => new Uint8Array(32).fill(fill)
  const keysOf = (fill: number) => ({
    clientKey: bytes(fill),
    publicKey: bytes(fill),
    crs: bytes(fill),
    verifierKey: bytes(fill),
  })

  it('of the first of two that make them stay, whole', async () => {
    const place = join(folder, 'cache', 'keys')
    expect(hasKeys(place)).toBe(false)
    writeKeys(place, keysOf(1))
    writeKeys(place, keysOf(2))
    for (const key of ['clientKey', 'publicKey', 'crs', 'verifierKey'] as const) {
      expect([...readKey(place, key)]).toEqual([...bytes(1)])
    }
    expect(await readdir(join(folder, 'cache'))).toEqual(['keys'])
  })

  it.skipIf(process.platform === 'win32')('are for their owner alone', async () => {
    const place = join(folder, 'keys')
    writeKeys(place, keysOf(1))
    expect((await stat(place)).mode & 0o777).toBe(0o700)
    for (const name of await readdir(place)) {
      expect((await stat(join(place, name))).mode & 0o777).toBe(0o600)
    }
  })

  it('that are missing in their folder are missed by name', async () => {
    await mkdir(join(folder, 'keys'))
    expect(() => readKey(join(folder, 'keys'), 'crs')).toThrow('there is no crs')
  })
})

describe('ciphertexts', () => {
  const rawHash = `0x${'ab'.repeat(30)}1234` as const
  const stored = BigInt(`0x${'ab'.repeat(30)}0600`)

  it('are found under the stored handle, also by who opens the folder later', () => {
    const publicKey = new Uint8Array([1])
    openCiphertexts(folder, publicKey).write(rawHash, new Uint8Array([7]))
    const later = openCiphertexts(folder, publicKey)
    expect(later.has(stored)).toBe(true)
    expect([...(later.read(stored) ?? [])]).toEqual([7])
    expect(later.read(stored ^ (1n << 20n))).toBe(undefined)
  })

  it('of other keys are not', () => {
    openCiphertexts(folder, new Uint8Array([1])).write(rawHash, new Uint8Array([7]))
    expect(openCiphertexts(folder, new Uint8Array([2])).has(stored)).toBe(false)
  })
})

it('the chain of a local coprocessor takes neither the published key of the mock nor its chain id', () => {
  const verifier = '0x6E12D8C87503D4287c294f2Fdef96ACd9DFf6bd2'
  const rpcUrl = 'http://127.0.0.1:1'
  for (const place of [
    { rpcUrl, chainId: 420_105, verifier },
    { rpcUrl, chainId: 31_337, verifier: `0x${'12'.repeat(20)}` },
  ] as const) {
    expect(() => placeLocalTaskManager(place)).toThrow('a mock has no place')
  }
})
