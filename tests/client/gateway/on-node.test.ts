import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { programOf } from '../../../demo/runtime-programs.ts'

const run = promisify(execFile)
const program = programOf('node')
const missing = program === undefined ? 'node is not installed' : ''
if (missing !== '' && process.env.CI === 'true') throw new Error(missing)
const skipped = missing === '' ? '' : `: ${missing}`

it.skipIf(program === undefined)(
  `a gateway on Node takes a body whose length is not announced, as proxies send it, and tells of a caller who left${skipped}`,
  { timeout: 60_000 },
  async () => {
    const { stdout } = await run(program ?? '', [join(import.meta.dirname, 'on-node.ts')])
    expect(JSON.parse(stdout)).toEqual({ statuses: [200, 413], told: [200, 413, 499] })
  },
)
