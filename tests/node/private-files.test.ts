import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writePrivateJson } from '../../node/private-files.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-private-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('a private file', () => {
  it('is written whole by each of several writers at once, and no draft stays', async () => {
    const path = join(folder, 'a', 'file.json')
    const writes = Array.from({ length: 20 }, (_, index) => writePrivateJson(path, { index }))
    await Promise.all(writes)
    expect(JSON.parse(await readFile(path, 'utf8')).index).toBeLessThan(20)
    expect(await readdir(join(folder, 'a'))).toEqual(['file.json'])
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('leaves no draft when it cannot be put in place', async () => {
    const path = join(folder, 'b', 'file.json')
    await mkdir(join(path, 'a folder'), { recursive: true })
    await expect(writePrivateJson(path, {})).rejects.toThrow()
    expect(await readdir(join(folder, 'b'))).toEqual(['file.json'])
  })
})
