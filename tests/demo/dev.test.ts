import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkDisk } from '../../demo/check-machine.ts'
import { freePort } from '../../demo/free-port.ts'
import { startProviderServer } from '../e2e/provider-server.ts'

const root = join(import.meta.dirname, '..', '..')
const limitMs = 400_000
const started: ChildProcess[] = []

/** A process in a group of its own, as a terminal starts one. */
function start(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(program, args, {
    cwd: root,
    detached: true,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let told = ''
  const waiting = new Set<() => void>()
  const hear = (chunk: unknown) => {
    told += chunk
    for (const look of waiting) look()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  /** Waits until the process has printed this. */
  const printed = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(told)
        if (found === null) return
        waiting.delete(look)
        resolve(found[1] ?? found[0])
      }
      waiting.add(look)
      look()
      void code.then((how) => reject(new Error(`It ended with ${how}:\n${told}`)))
    })
  return { child, code, printed, told: () => told }
}

const dev = (args: readonly string[], env?: Record<string, string>) =>
  start(process.execPath, ['--no-env-file', join(root, 'demo', 'dev.ts'), ...args], env)

afterAll(() => {
  for (const { pid, exitCode, signalCode } of started) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
  }
})

/** The first of three free ports in a row. */
async function threePorts(): Promise<number> {
  for (;;) {
    const port = await freePort()
    const more = [port + 1, port + 2].map(
      (next) =>
        new Promise<boolean>((resolve) => {
          const server = createServer()
          server.once('error', () => resolve(false))
          server.listen(next, '127.0.0.1', () => server.close(() => resolve(true)))
        }),
    )
    if (port < 65_000 && (await Promise.all(more)).every((free) => free)) return port
  }
}

describe('npm run dev', () => {
  it('names a port that is in use before it starts anything', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { code, told } = dev(['--chain-port', String(port), '--port', String(await threePorts())])
    expect(await code).toBe(1)
    expect(told()).toContain(`${port} (chain)`)
    expect(told()).not.toContain('Starting')
    server.close()
  })

  it('names a provider that does not respond before it starts anything', async () => {
    const ports = ['--chain-port', String(await freePort()), '--port', String(await threePorts())]
    const { code, told } = dev(ports, { SVC_OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })
    expect(await code).toBe(75)
    expect(told()).toContain('The provider at http://127.0.0.1:1/v1 does not respond')
    expect(told()).not.toContain('Starting')
  })

  it('names a disk without room', async () => {
    await checkDisk(tmpdir(), 1)
    await expect(checkDisk(tmpdir(), Number.MAX_SAFE_INTEGER)).rejects.toThrow(/MiB are needed/)
    await expect(checkDisk('/no/such/folder')).rejects.toMatchObject({
      hint: expect.stringContaining('TMPDIR'),
    })
  })

  it(
    'prints what works: pages, keys, a node to add, a webhook to register',
    async () => {
      const port = await threePorts()
      const service = dev(['--port', String(port), '--chain-port', String(await freePort())])
      await service.printed(/xdg-open|open http/)
      const told = service.told()
      for (const page of ['console', 'playground', 'docs']) {
        const url = `http://127.0.0.1:${port}/${page}`
        expect(told).toContain(url)
        expect((await fetch(url)).status).toBe(200)
      }
      expect(told).toMatch(/coordinator {2}0x[0-9a-fA-F]{40} {2}key 0x[0-9a-f]{64}/)
      const provider = /^ {2}stand-in {5}(\S+)/m.exec(told)?.[1] ?? ''
      const statusWith = async (headers: Record<string, string>) =>
        (await fetch(`${provider}/v1/models`, { headers })).status
      expect(await statusWith({ authorization: 'Bearer any' })).toBe(200)
      expect(await statusWith({ 'x-api-key': 'any' })).toBe(401)
      expect(told).toMatch(/mock key {5}[0-9a-f]{64}/)
      expect(told.match(/^ {2}0x[0-9a-f]{40} {2}0x[0-9a-f]{64}$/gm)?.length).toBeGreaterThan(1)

      const [, addNode = ''] = /^Add a node.*\n {2}(.*)$/m.exec(told) ?? []
      const node = start('sh', ['-c', addNode])
      await node.printed(/The ICL considers this node for jobs/)

      const [, alone = ''] = /^Add one with the executable alone.*\n {2}(.*)$/m.exec(told) ?? []
      const folder = await mkdtemp(join(tmpdir(), 'svc-alone-'))
      const program = '#!/bin/sh\necho "$1 $SVC_ICL_ENDPOINT"\n'
      await writeFile(join(folder, 'svc-node'), program, { mode: 0o755 })
      const inFolder = start('sh', ['-c', `cd '${folder}' && ${alone}`])
      expect([await inFolder.code, inFolder.told()]).toEqual([
        0,
        ['init', 'attest', 'run'].map((name) => `${name} http://127.0.0.1:${port}\n`).join(''),
      ])
      await rm(folder, { recursive: true })

      const [, register = ''] = /^Register a webhook.*\n {2}(.*)$/m.exec(told) ?? []
      const client = start('sh', ['-c', register])
      expect(await client.code).toBe(0)
      expect(client.told()).toContain('webhook secret: whsec_')
      await service.printed(/webhook inference\.settled: job 0x[0-9a-f]{64} is accepted/)

      const [, look = ''] = /^Look at the ICL.*\n {2}(.*)$/m.exec(told) ?? []
      const operator = start('sh', ['-c', look])
      expect([await operator.code, operator.told()]).toEqual([
        0,
        expect.stringContaining('All is well.'),
      ])

      service.child.kill('SIGINT')
      expect(await service.code).toBe(130)
    },
    limitMs,
  )
})

describe('npm run demo -- --keep', () => {
  it(
    'prints the same once the answer is there, and no key of a real provider',
    async () => {
      const provider = await startProviderServer(() => 'Hello.')
      const env = { SVC_OPENAI_BASE_URL: provider.openaiUrl, OPENAI_API_KEY: 'sk-of-the-operator' }
      const args = ['--no-env-file', join(root, 'demo', 'main.ts'), '--keep', 'Hello']
      const demo = start(process.execPath, args, env)
      await demo.printed(/xdg-open|open http/)
      const told = demo.told()
      expect(told).toContain('curl -s -H')
      expect(told).toMatch(/mock key {5}[0-9a-f]{64}/)
      expect(told.match(/^ {2}0x[0-9a-f]{40} {2}0x[0-9a-f]{64}$/gm)?.length).toBeGreaterThan(1)
      expect(told).not.toMatch(/playground|webhook/)
      const page = /(?:xdg-open|open) (http\S+)/.exec(told)?.[1] ?? ''
      expect((await fetch(page)).status).toBe(200)

      const [, addNode = ''] = /^Add a node.*\n {2}(.*)$/m.exec(told) ?? []
      const settings = await readFile(/\. '([^']+)'/.exec(addNode)?.[1] ?? '', 'utf8')
      expect(settings).not.toContain('sk-of-the-operator')
      const node = start('sh', ['-c', addNode], env)
      await node.printed(/The ICL considers this node for jobs/)

      demo.child.kill('SIGINT')
      expect(await demo.code).toBe(0)
      await provider.stop()
    },
    limitMs,
  )
})
