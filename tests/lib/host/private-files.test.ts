import { execFileSync, spawn } from 'node:child_process'
import { lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readJson, tryToWrite, writePrivateJson } from '../../../lib/host/private-files.ts'
import { fileFolder } from '../../test-folder.ts'

const folder = fileFolder()

describe('a private file', () => {
  it('is written whole by each of several writers at once, and no draft stays', async () => {
    const path = join(folder, 'a', 'file.json')
    const writes = Array.from({ length: 20 }, (_, index) => writePrivateJson(path, { index }))
    await Promise.all(writes)
    expect(JSON.parse(await readFile(path, 'utf8')).index).toBeLessThan(20)
    expect(await readdir(join(folder, 'a'))).toEqual(['file.json'])
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('is read with the mark that some editors put first, and damage comes with its own remedy', async () => {
    const path = join(folder, 'marked.json')
    await writeFile(path, '\ufeff{"a": 1}')
    expect(await readJson(path, 'Restore it.')).toEqual({ a: 1 })
    await writeFile(path, '{"a": ')
    await expect(readJson(path, 'Restore it.')).rejects.toMatchObject({
      code: 'file-unreadable',
      message: expect.stringContaining(path),
      hint: 'Restore it.',
    })
  })

  it('leaves no draft when it cannot be put in place', async () => {
    const path = join(folder, 'b', 'file.json')
    await mkdir(join(path, 'a folder'), { recursive: true })
    await expect(writePrivateJson(path, {})).rejects.toThrow()
    expect(await readdir(join(folder, 'b'))).toEqual(['file.json'])
  })

  it('can be tried before there is anything to write, which leaves nothing behind', async () => {
    const path = join(folder, 'c', 'file.json')
    await tryToWrite(path)
    await writeFile(path, 'kept')
    await tryToWrite(path)
    expect([await readdir(join(folder, 'c')), await readFile(path, 'utf8')]).toEqual([
      ['file.json'],
      'kept',
    ])
    await expect(tryToWrite(join(path, 'below.json'))).rejects.toMatchObject({
      code: 'file-unwritable',
    })
    await tryToWrite('/dev/full')
  })

  it('is written through a link, which stays, also when the link leads to nothing yet', async () => {
    const target = join(folder, 'target.json')
    const link = join(folder, 'link.json')
    await symlink('target.json', link)
    for (const index of [1, 2]) {
      await writePrivateJson(link, { index })
      expect((await lstat(link)).isSymbolicLink()).toBe(true)
      expect((await lstat(target)).isFile()).toBe(true)
      expect(JSON.parse(await readFile(target, 'utf8'))).toEqual({ index })
    }
    expect((await readdir(folder)).filter((name) => name.endsWith('.new'))).toEqual([])
  })

  it('is handed to the reader of a pipe of that name', async () => {
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const read = readFile(pipe, 'utf8')
    await writePrivateJson(pipe, { through: 'a pipe' })
    expect(JSON.parse(await read)).toEqual({ through: 'a pipe' })
    expect((await lstat(pipe)).isFIFO()).toBe(true)
  })

  it('stands between what is printed before and after when it goes to standard output, in a file', async () => {
    const output = join(folder, 'output')
    // Not /dev/stdout itself, which a mistake here would replace.
    const link = join(folder, 'stdout')
    await symlink('/dev/fd/1', link)
    const module = join(import.meta.dirname, '..', '..', '..', 'lib', 'host', 'private-files.ts')
    const script = `console.log('first'); await (await import('${module}')).writePrivateJson('${link}', {}); console.log('last')`
    const bun = join(import.meta.dirname, '..', '..', '..', 'scripts', 'bun.mjs')
    const command = `exec node "$0" -e "$1" > "$2"`
    const child = spawn('sh', ['-c', command, bun, script, output], { stdio: 'inherit' })
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
    expect(await readFile(output, 'utf8')).toBe('first\n{}\nlast\n')
  })
})
