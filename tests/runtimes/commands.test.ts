import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../demo/free-port.ts'
import { createProcesses, lastLogLines, type Processes } from '../../demo/processes.ts'
import { type IclRuntime, programOf } from '../../demo/runtime-programs.ts'
import { eventually } from '../eventually.ts'
import { sampleSettings } from '../sample-settings.ts'
import { openWireServer, whyNoWireServer } from '../store/wire-server/open.ts'

const root = join(import.meta.dirname, '..', '..')

let folder: string
let processes: Processes
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-commands-'))
  processes = createProcesses(folder)
})
afterAll(async () => {
  await processes.close()
  await rm(folder, { recursive: true, force: true })
})

/** Where everything is tested (CI), a missing runtime is a failure. */
function isMissing(runtime: IclRuntime): boolean {
  const missing = programOf(runtime) === undefined
  if (missing && process.env.CI === 'true') throw new Error(`${runtime} is not installed`)
  return missing
}

it.skipIf(isMissing('deno'))(
  'deno task serve has the permissions that an ICL with a sqlite file needs, and may write nothing but that',
  { timeout: 120_000 },
  async () => {
    const config = join(root, 'deno.json')
    const { command } = JSON.parse(await readFile(config, 'utf8')).tasks.serve
    const [, ...args] = String(command).split(' ')
    const written = args.find((arg) => arg.startsWith('--allow-write'))
    expect(written).toMatch(/^--allow-write=icl\.db(,icl\.db[-.](lock|journal|wal|shm))*$/)
    const entry = 'icl/start/deno.ts'
    expect(args.at(-1)).toBe(entry)
    const port = await freePort()
    const running = processes.start({
      name: 'deno-task',
      program: programOf('deno') ?? '',
      // In a folder of its own, as the task itself does it in the sources'.
      args: ['run', `--config=${config}`, ...args.slice(1, -1), join(root, entry)],
      env: {
        ...sampleSettings,
        SVC_ICL_PORT: String(port),
      },
    })
    const answer = await eventually(`an answer (${running.logFile})`, () => {
      if (running.hasExited()) throw new Error('The task has ended')
      return fetch(`http://127.0.0.1:${port}/livez`).catch(() => undefined)
    }).catch(async (error) => {
      throw new Error(`${error}\n${await lastLogLines(running.logFile)}`)
    })
    expect(answer.status).toBe(200)
    expect(existsSync(join(folder, 'icl.db'))).toBe(true)
    running.kill('SIGTERM')
    expect(await running.exited).toBe(0)
  },
)

const noServer = await whyNoWireServer()

it.skipIf(isMissing('deno') || noServer !== undefined)(
  'deno task deployed listens where the host says, on MongoDB without a disk, after it has registered its cron',
  { timeout: 120_000 },
  async () => {
    const server = await openWireServer()
    const config = join(root, 'deno.json')
    const { tasks, deploy } = JSON.parse(await readFile(config, 'utf8'))
    const [, ...args] = String(tasks.deployed.command).split(' ')
    expect(args.pop()).toBe(deploy.runtime.entrypoint)
    const crons = `const value = async (_, at) => console.log('cron', at)
      Object.defineProperty(Deno, 'cron', { value })`
    await writeFile(join(folder, 'crons.js'), crons)
    await writeFile(
      join(folder, 'deployed.js'),
      `import './crons.js'\nimport '${pathToFileURL(join(root, deploy.runtime.entrypoint))}'`,
    )
    const [port, own] = [await freePort(), await freePort()]
    const settings = {
      ...sampleSettings,
      SVC_ICL_PORT: String(own),
      SVC_ICL_DATABASE_URL: server.freshUrl(),
      SVC_ICL_REPLICAS: '2',
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(join(folder, 'icl.env'), lines.join(''))
    const running = processes.start({
      name: 'deno-deploy',
      program: programOf('deno') ?? '',
      args: ['run', `--config=${config}`, ...args.slice(1), 'deployed.js'],
      // Deno Deploy gives its address in this way to the first server of the process, and to no other.
      env: { DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` },
    })
    try {
      const answer = await eventually(`an answer (${running.logFile})`, () => {
        if (running.hasExited()) throw new Error('It has ended')
        return fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
      }).catch(async (error) => {
        throw new Error(`${error}\n${await lastLogLines(running.logFile)}`)
      })
      expect(answer.status).toBe(200)
      expect(await readFile(running.logFile, 'utf8')).toMatch(/^cron \* \* \* \* \*$/m)
      running.kill('SIGINT')
      expect(await running.exited).toBe(0)
    } finally {
      await processes.stop([running])
      await server.close()
    }
  },
)

it.skipIf(isMissing('node'))(
  'an ICL on Node gives up an answer that nobody reads',
  { timeout: 120_000 },
  async () => {
    const running = processes.start({
      name: 'silent',
      program: programOf('node') ?? '',
      args: [join(import.meta.dirname, 'silent-node.ts')],
    })
    const url = await eventually('its address', async () => {
      if (running.hasExited()) throw new Error(await lastLogLines(running.logFile))
      return /^http:\S+$/m.exec(await lastLogLines(running.logFile))?.[0]
    })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.pause()
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nhost: icl.test\r\n\r\n')
    try {
      await eventually('its giving up', async () =>
        (await lastLogLines(running.logFile)).includes('given up') ? true : undefined,
      )
    } finally {
      socket.destroy()
      await processes.stop([running])
    }
  },
)
