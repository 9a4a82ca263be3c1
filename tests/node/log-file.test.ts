import { spawn } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLogFile } from '../../node/log-file.ts'

let folder: string
let path: string
const elsewhere: string[] = []
beforeEach(async () => {
  elsewhere.length = 0
  folder = await mkdtemp(join(tmpdir(), 'svc-log-'))
  path = join(folder, 'logs', 'svc.log')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const open = (maxBytes = 1_000, oldFiles = 2) =>
  openLogFile({ path, maxBytes, oldFiles }, (line) => elsewhere.push(line))
const linesOf = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n')

describe('the log file', () => {
  it('is appended to, for its owner only', () => {
    open().write('one')
    open().write('two')
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('is replaced when it is full; so many old ones stay', async () => {
    const log = open(100, 2)
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index} ${'x'.repeat(20)}`)
    for (const line of lines) log.write(line)
    expect((await readdir(join(folder, 'logs'))).sort()).toEqual([
      'svc.log',
      'svc.log.1',
      'svc.log.2',
    ])
    const kept = [`${path}.2`, `${path}.1`, path].flatMap(linesOf)
    expect(kept).toEqual(lines.slice(-kept.length))
    expect(kept.length).toBeGreaterThanOrEqual(7)
    for (const file of [path, `${path}.1`]) expect(statSync(file).size).toBeLessThanOrEqual(100)
  })

  it('keeps no old file when told so, and a line that is too long whole', () => {
    const log = open(100, 0)
    log.write('short')
    log.write('y'.repeat(500))
    log.write('after')
    expect(linesOf(path)).toEqual(['after'])
  })

  it('is made anew when it was moved or removed', () => {
    const log = open()
    log.write('one')
    renameSync(path, `${path}.moved`)
    log.write('two')
    expect(linesOf(path)).toEqual(['two'])
    expect(linesOf(`${path}.moved`)).toEqual(['one'])
    rmSync(path)
    log.write('three')
    expect(linesOf(path)).toEqual(['three'])
  })

  it('begins a new line after half a one', () => {
    open().write('one')
    appendFileSync(path, 'half a li')
    open().write('two')
    expect(linesOf(path)).toEqual(['one', 'half a li', 'two'])
  })

  it('that cannot be written sends its lines elsewhere, and is taken up again', () => {
    const log = open()
    log.write('one')
    rmSync(join(folder, 'logs'), { recursive: true })
    writeFileSync(join(folder, 'logs'), '')
    log.write('two')
    log.write('three')
    expect(elsewhere[0]).toMatch(/^The log file .* cannot be written: /)
    expect(elsewhere.slice(1)).toEqual(['two', 'three'])
  })

  it('that cannot be written closes no file of others', () => {
    const log = open()
    log.write('one')
    rmSync(join(folder, 'logs'), { recursive: true })
    log.write('two')
    // A socket of the daemon, say, which gets the lowest number that is free.
    const others = Array.from({ length: 5 }, () => openSync('/dev/null', 'r'))
    for (let line = 0; line < 5; line++) log.write('more')
    for (const file of others) expect(() => fstatSync(file)).not.toThrow()
    for (const file of others) closeSync(file)
    mkdirSync(join(folder, 'logs'))
    log.write('three')
    expect(linesOf(path)).toEqual(['three'])
  })

  it('says why it cannot be opened', () => {
    writeFileSync(join(folder, 'logs'), '')
    expect(open).toThrow(
      expect.objectContaining({
        code: 'log-file-unusable',
        message: expect.stringContaining(path),
      }),
    )
  })

  it('loses no line to kill -9', async () => {
    const module = join(import.meta.dirname, '..', '..', 'node', 'log-file.ts')
    const script = `
      import { openLogFile } from ${JSON.stringify(module)}
      const log = openLogFile({ path: process.argv[2], maxBytes: 1e6, oldFiles: 1 }, console.error)
      for (let line = 0; line < 1000; line++) log.write('line ' + line)
      process.kill(process.pid, 'SIGKILL')
    `
    const file = join(folder, 'script.ts')
    writeFileSync(file, script)
    const child = spawn(process.execPath, [file, path], { stdio: 'inherit' })
    const signal = await new Promise((resolve) => child.on('exit', (_, how) => resolve(how)))
    expect(signal).toBe('SIGKILL')
    expect(linesOf(path).at(-1)).toBe('line 999')
  })
})
