import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createProcesses } from '../../demo/processes.ts'

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

const until = async (holds: () => boolean | Promise<boolean>) => {
  for (let look = 0; look < 200 && !(await holds()); look++) {
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  expect(await holds()).toBe(true)
}

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-processes-test-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const evaluate = (name: string, source: string) => ({ name, args: ['-e', source] })

describe('processes of the demo', () => {
  it('gives a command its own environment and returns what it prints', async () => {
    process.env.OPENAI_API_KEY = 'of the user'
    try {
      const processes = createProcesses(folder)
      const source = 'console.log(process.env.OPENAI_API_KEY, process.env.OTHER)'
      const output = await processes.run({ ...evaluate('a', source), env: { OTHER: 'given' } })
      expect(output).toBe('undefined given\n')
      await processes.close()
    } finally {
      delete process.env.OPENAI_API_KEY
    }
  })

  it('tells the last words of a command that fails', async () => {
    const processes = createProcesses(folder)
    const failing = processes.run(evaluate('a', 'console.error("no money"); process.exit(3)'))
    await expect(failing).rejects.toThrow(/ended with 3:[\s\S]*no money/)
    await processes.close()
  })

  it('ends a process that does not want to, and the children it has', async () => {
    const processes = createProcesses(folder)
    const source = `
      process.on('SIGTERM', () => {})
      const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
      require('node:fs').writeFileSync('child.pid', String(pid))
      setInterval(() => {}, 1000)`
    const running = processes.start(evaluate('stubborn', source))
    const file = join(folder, 'child.pid')
    await until(async () => existsSync(file) && (await readFile(file, 'utf8')) !== '')
    const child = Number(await readFile(file, 'utf8'))
    await processes.stop([running], 200)
    expect(await running.exited).toBe('SIGKILL')
    await until(() => !isAlive(child))
    await processes.close()
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
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.once('data', (chunk) => resolve(Number(String(chunk))))
    })
    expect(isAlive(pid)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !isAlive(pid) && !existsSync(inner))
  })
})
