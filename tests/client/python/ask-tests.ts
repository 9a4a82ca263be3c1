import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { ClientWorld } from '../client-world.ts'
import { cannot, runPython, skipped } from './python.ts'

const readme = new URL('../../../client/python/README.md', import.meta.url)

export function testPython(place: () => ClientWorld): void {
  describe.skipIf(cannot)(`the client in Python${skipped}`, () => {
    it('asks on the local chain, as its README says', async () => {
      const [, code = ''] = /```python\n(.*?)```/s.exec(await readFile(readme, 'utf8')) ?? []
      const ended = await runPython(['-c', code], place().environment)
      expect(ended).toEqual({ code: 0, stdout: 'Answer to: What is a buoy for?\n', stderr: '' })
    })
  })
}
