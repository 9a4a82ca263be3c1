import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { hashSources, sourceFiles, sourceFolders } from '../../scripts/build-node/source-hash.ts'
import { root } from './executable.ts'

const copy = await mkdtemp(join(tmpdir(), 'svc-sources-'))
afterAll(() => rm(copy, { recursive: true }))

it('the hash of the sources is that of the executable, not of the module in Python', async () => {
  for (const path of [...sourceFolders, ...sourceFiles]) {
    await cp(join(root, path), join(copy, path), { recursive: true })
  }
  const before = await hashSources(copy)
  await rm(join(copy, 'node', 'python'), { recursive: true })
  expect(await hashSources(copy)).toBe(before)
  await writeFile(join(copy, 'node', 'main.ts'), '')
  expect(await hashSources(copy)).not.toBe(before)
})
