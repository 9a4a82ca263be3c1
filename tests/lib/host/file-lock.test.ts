import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { programOf } from '../../../demo/runtime-programs.ts'
import { takeFileLock } from '../../../lib/host/file-lock.ts'

const runtimes = ['bun', 'node', 'deno'] as const
type Runtime = (typeof runtimes)[number]
const module = join(import.meta.dirname, '..', '..', '..', 'lib', 'host', 'file-lock.ts')

let folder: string
let path: string
type Started = {
  readonly child: ChildProcessByStdio<Writable, Readable, null>
  readonly ended: Promise<number | null>
  readonly word: () => Promise<string>
}
const children: Started[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-lock-'))
  path = join(folder, 'run.lock')
})
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill))
  await rm(folder, { recursive: true })
})

/** A process with the lock at hand as `takeFileLock`, and its path as `path`. */
function start(source: string, runtime: Runtime = 'bun'): Started {
  const program = programOf(runtime)
  if (program === undefined) throw new Error(`${runtime} is not installed`)
  const script = join(folder, 'process.ts')
  writeFileSync(
    script,
    `import process from 'node:process'
    import { takeFileLock } from ${JSON.stringify(module)}
    const path = ${JSON.stringify(path)}
    ${source}`,
  )
  const args = runtime === 'deno' ? ['run', '-A', '--no-config', script] : [script]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const word = () => once(child.stdout, 'data').then(([data]) => `${data}`.trim())
  const started = { child, ended, word }
  children.push(started)
  return started
}

async function kill({ child, ended }: Started) {
  child.kill('SIGKILL')
  await ended
}

/** Takes the lock when it is told to, and keeps it. */
const contestant = `console.log('ready')
  process.stdin.once('data', async () => console.log((await takeFileLock(path)) ? 'taken' : 'refused'))
  setInterval(() => {}, 1000)`

/** What each of some processes gets that take the lock at the same moment. */
async function contest(count: number, runtime: Runtime = 'bun') {
  const started = Array.from({ length: count }, () => start(contestant, runtime))
  await Promise.all(started.map(({ word }) => word()))
  const words = started.map(({ word }) => word())
  for (const { child } of started) child.stdin.write('go')
  return { words: await Promise.all(words), end: () => Promise.all(started.map(kill)) }
}

describe('the lock of a file', () => {
  for (const runtime of runtimes) {
    const isMissing = programOf(runtime) === undefined
    if (isMissing && process.env.CI === 'true') throw new Error(`${runtime} is not installed`)
    it.skipIf(isMissing)(`is refused while ${runtime} has it, and free after kill -9`, async () => {
      const other = await contest(1, runtime)
      expect(other.words).toEqual(['taken'])
      expect(await takeFileLock(path)).toBe(undefined)
      await other.end()
      const release = await takeFileLock(path)
      expect(release).toBeDefined()
      expect((await contest(1, runtime)).words).toEqual(['refused'])
      release?.()
      expect((await contest(1, runtime)).words).toEqual(['taken'])
    })
  }

  it('is not lost by a process that takes it twice, nor by a collection of garbage', async () => {
    const twice = start(`await takeFileLock(path)
      console.log((await takeFileLock(path)) ? 'taken' : 'refused')
      setInterval(() => Bun.gc(true), 10)`)
    expect(await twice.word()).toBe('refused')
    expect((await contest(1)).words).toEqual(['refused'])
  })

  it('is for its owner only, and the only file it makes', async () => {
    const release = await takeFileLock(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['run.lock'])
    release?.()
    release?.()
  })

  it('is had by one of many that come at the same moment', async () => {
    for (let turn = 0; turn < 3; turn++) {
      const { words, end } = await contest(6)
      expect(words.toSorted()).toEqual([...Array(5).fill('refused'), 'taken'])
      await end()
    }
  })

  it('is never had by two while many take it and let it go', async () => {
    const takers = Array.from({ length: 4 }, () =>
      start(`import { mkdirSync, rmdirSync } from 'node:fs'
      for (let turn = 0; turn < 100; ) {
        const release = await takeFileLock(path)
        if (!release) continue
        mkdirSync(path + '.inside')
        rmdirSync(path + '.inside')
        release()
        turn++
      }`),
    )
    expect(await Promise.all(takers.map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
  })

  it('says what is wrong with its path', async () => {
    const unusable = { code: 'lock-unusable', hint: expect.stringContaining('Check the disk') }
    await expect(takeFileLock(join(folder, 'nowhere', 'lock'))).rejects.toMatchObject(unusable)
    mkdirSync(path)
    await expect(takeFileLock(path)).rejects.toMatchObject(unusable)
    const damaged = join(folder, 'damaged')
    writeFileSync(damaged, 'x'.repeat(5_000))
    await expect(takeFileLock(damaged)).rejects.toMatchObject(unusable)
  })
})
