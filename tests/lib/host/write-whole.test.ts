import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownerOnly, writeWhole } from '../../../lib/host/write-whole.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-whole-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('a file that is written whole', () => {
  it('has the new content and the mode, and no draft stays', async () => {
    const file = join(folder, 'file')
    writeWhole(file, 'old', ownerOnly)
    writeWhole(file, new TextEncoder().encode('new'), ownerOnly)
    expect(await readFile(file, 'utf8')).toBe('new')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['file'])
  })

  it('leaves what is there, and no draft, when it cannot be put in place', async () => {
    const file = join(folder, 'b', 'file')
    await mkdir(join(file, 'a folder'), { recursive: true })
    expect(() => writeWhole(file, 'new')).toThrow()
    expect(await readdir(join(folder, 'b'))).toEqual(['file'])
  })
})
