import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createProcesses, type Processes } from '../../demo/processes.ts'

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    // Ended, but not yet collected by the init process.
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return !existsSync('/proc')
  }
}

const patienceMs = 240_000

const until = async (holds: () => boolean | Promise<boolean>) => {
  for (const untilMs = performance.now() + patienceMs; performance.now() < untilMs; ) {
    if (await holds()) break
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  expect(await holds()).toBe(true)
}

let folder = ''
// What a test that fails half-way would leave running.
const keepers: Processes[] = []
const started: number[] = []

const keeper = () => {
  const processes = createProcesses(folder)
  keepers.push(processes)
  return processes
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-processes-test-'))
})
afterEach(async () => {
  for (const kept of keepers.splice(0)) {
    await kept.stop(undefined, 0)
    await kept.close()
  }
  for (const pid of started.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

const evaluate = (name: string, source: string) => ({ name, args: ['-e', source] })

describe('processes of the demo', () => {
  it('gives a command its own environment and returns what it prints', async () => {
    process.env.OPENAI_API_KEY = 'of the user'
    try {
      const processes = keeper()
      const source = 'console.log(process.env.OPENAI_API_KEY, process.env.OTHER)'
      const output = await processes.run({ ...evaluate('a', source), env: { OTHER: 'given' } })
      expect(output).toBe('undefined given\n')
    } finally {
      delete process.env.OPENAI_API_KEY
    }
  })

  it('lets a command reach this machine without a proxy, and reads no .env', async () => {
    await writeFile(join(folder, '.env'), 'FROM_FILE=read')
    const source = 'console.log(process.env.NO_PROXY, process.env.no_proxy, process.env.FROM_FILE)'
    const env = { no_proxy: 'a.example' }
    const output = await keeper().run({ ...evaluate('a', source), env })
    expect(output).toMatch(/^(a\.example,\S*127\.0\.0\.1,localhost\S*) \1 undefined\n$/)
  })

  it('tells the last words of a command that fails', async () => {
    const processes = keeper()
    const failing = processes.run(evaluate('a', 'console.error("no money"); process.exit(3)'))
    await expect(failing).rejects.toThrow(/ended with 3:[\s\S]*no money/)
  })

  it('ends a process that does not want to, and the children it has', async () => {
    const processes = keeper()
    const source = `
      process.on('SIGTERM', () => {})
      const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
      require('node:fs').writeFileSync('child.pid', String(pid))
      setInterval(() => {}, 1000)`
    const running = processes.start(evaluate('stubborn', source))
    const file = join(folder, 'child.pid')
    await until(async () => existsSync(file) && (await readFile(file, 'utf8')) !== '')
    const child = Number(await readFile(file, 'utf8'))
    started.push(child)
    await processes.stop([running], 200)
    expect(await running.exited).toBe('SIGKILL')
    await until(() => !isAlive(child))
  })

  it('leaves nothing behind when it is killed itself', async () => {
    const inner = join(folder, 'inner')
    const program = join(folder, 'program.ts')
    await writeFile(
      program,
      `import { mkdirSync } from 'node:fs'
       import { createProcesses } from '${join(import.meta.dirname, '..', '..', 'demo', 'processes.ts')}'
       mkdirSync('${inner}')
       const { pid } = createProcesses('${inner}').start({ name: 'a', args: ['-e', 'setInterval(() => {}, 1000)'] })
       setTimeout(() => console.log(pid), 200)
       setInterval(() => {}, 1000)`,
    )
    const parent = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
    if (parent.pid !== undefined) started.push(parent.pid)
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.once('data', (chunk) => resolve(Number(String(chunk))))
    })
    started.push(pid)
    expect(isAlive(pid)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !isAlive(pid) && !existsSync(inner))
  })
})
