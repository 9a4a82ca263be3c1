import { spawn } from 'node:child_process'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeLock } from '../../../node/journal/lock.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-lock-'))
  path = join(folder, 'run.lock')
})
afterEach(() => rm(folder, { recursive: true }))

/** Another process that holds the lock, or held it until kill -9. */
async function holder(): Promise<{ pid: number; kill: () => Promise<void> }> {
  const module = join(import.meta.dirname, '..', '..', '..', 'node', 'journal', 'lock.ts')
  const script = join(folder, 'holder.ts')
  writeFileSync(
    script,
    `import { takeLock } from ${JSON.stringify(module)}
    takeLock(process.argv[2])
    console.log('taken')
    setInterval(() => {}, 1000)`,
  )
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return {
    pid: child.pid ?? 0,
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Whether another process can take the lock; it ends at once. */
async function takenElsewhere(): Promise<boolean> {
  const other = await contestants(1)
  await other.end()
  return other.taken === 1
}

/** Processes that try to take the lock at the same moment; those that have it keep it. */
async function contestants(count: number) {
  const module = join(import.meta.dirname, '..', '..', '..', 'node', 'journal', 'lock.ts')
  const script = join(folder, 'contestant.ts')
  writeFileSync(
    script,
    `import { takeLock } from ${JSON.stringify(module)}
    console.log('ready')
    process.stdin.once('data', () => {
      try {
        takeLock(process.argv[2])
        console.log('taken')
      } catch (error) {
        console.log(error.code)
      }
    })
    setInterval(() => {}, 1000)`,
  )
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [script, path], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const word = (child: (typeof children)[number]) =>
    new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(`${data}`.trim())))
  await Promise.all(children.map(word))
  const answers = children.map(word)
  for (const child of children) child.stdin.write('go')
  const said = await Promise.all(answers)
  return {
    taken: said.filter((answer) => answer === 'taken').length,
    end: () =>
      Promise.all(
        children.map(async (child) => {
          const ended = new Promise((resolve) => child.once('exit', resolve))
          child.kill('SIGKILL')
          await ended
        }),
      ),
  }
}

describe('the lock of a configuration', () => {
  it('is refused while another process lives, and free after kill -9', async () => {
    const other = await holder()
    try {
      expect(() => takeLock(path)).toThrow(
        expect.objectContaining({
          code: 'already-running',
          message: expect.stringContaining(`(process ${other.pid})`),
        }),
      )
    } finally {
      await other.kill()
    }
    const release = takeLock(path)
    expect(() => takeLock(path)).toThrow(expect.objectContaining({ code: 'already-running' }))
    // That was refused without losing it.
    expect(await takenElsewhere()).toBe(false)
    release()
    expect(existsSync(path)).toBe(false)
    expect(await takenElsewhere()).toBe(true)
  })

  it('is for its owner only', () => {
    const release = takeLock(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    release()
  })

  it.skipIf(process.platform !== 'linux')(
    'is refused though its holder has the number of this process, as in another container',
    async () => {
      const other = await holder()
      try {
        // What a process in another container would leave there.
        writeFileSync(path, '', { flag: 'a' })
        const pid = Object.getOwnPropertyDescriptor(process, 'pid')!
        Object.defineProperty(process, 'pid', { ...pid, value: other.pid, writable: true })
        try {
          expect(() => takeLock(path)).toThrow(expect.objectContaining({ code: 'already-running' }))
        } finally {
          Object.defineProperty(process, 'pid', pid)
        }
      } finally {
        await other.kill()
      }
    },
  )

  for (const content of ['', '{"pid":1,"started":"1"}', 'x'.repeat(5_000)]) {
    it(`is taken when a file of ${content.length} bytes is left there`, () => {
      writeFileSync(path, content)
      takeLock(path)()
    })
  }

  it('is had by one of many that come at the same moment', async () => {
    for (const left of [undefined, '{"pid":1}', '{"pid":1}', 'x'.repeat(5_000)]) {
      if (left !== undefined) writeFileSync(path, left)
      const contest = await contestants(6)
      await contest.end()
      expect(contest.taken).toBe(1)
      rmSync(path, { force: true })
    }
  })

  it('is had by one that comes while another, which was refused, reads whose it is', async () => {
    const script = join(folder, 'reader.ts')
    writeFileSync(
      script,
      `import { DatabaseSync } from 'node:sqlite'
      const file = new DatabaseSync(process.argv[2])
      file.exec('CREATE TABLE kept (x)')
      file.exec('INSERT INTO kept VALUES (1)')
      file.exec('BEGIN')
      file.prepare('SELECT * FROM kept').all()
      console.log('reading')
      setTimeout(() => process.exit(0), 1000)`,
    )
    const reader = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => reader.once('exit', resolve))
    await new Promise((resolve) => reader.stdout.once('data', resolve))
    try {
      takeLock(path)()
    } finally {
      await ended
    }
  })

  it('is never had by two while many take it and let it go', async () => {
    const module = join(import.meta.dirname, '..', '..', '..', 'node', 'journal', 'lock.ts')
    const script = join(folder, 'taker.ts')
    writeFileSync(
      script,
      `import { mkdirSync, rmdirSync } from 'node:fs'
      import { takeLock } from ${JSON.stringify(module)}
      for (let turn = 0; turn < 100; ) {
        let release
        try {
          release = takeLock(process.argv[2])
        } catch (error) {
          if (error.code !== 'already-running') throw error
          continue
        }
        mkdirSync(process.argv[2] + '.inside')
        rmdirSync(process.argv[2] + '.inside')
        release()
        turn++
      }`,
    )
    const codes = await Promise.all(
      Array.from({ length: 4 }, () => {
        const child = spawn(process.execPath, [script, path], { stdio: 'inherit' })
        return new Promise((resolve) => child.once('exit', resolve))
      }),
    )
    expect(codes).toEqual([0, 0, 0, 0])
  })

  it('says what is wrong with its place', async () => {
    expect(() => takeLock(join(folder, 'nowhere', 'run.lock'))).toThrow(
      expect.objectContaining({ code: 'lock-unusable' }),
    )
  })
})
