import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProcesses, lastLogLines, type Processes } from '../../demo/processes.ts'
import { programOf } from '../../demo/runtime-programs.ts'
import { sampleSettings } from '../sample-settings.ts'

const root = join(import.meta.dirname, '..', '..')
const server = createServer()
let folder: string
let processes: Processes
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-port-'))
  processes = createProcesses(folder)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  server.close()
  await processes.close()
  await rm(folder, { recursive: true, force: true })
})

describe('an ICL whose port is taken', () => {
  for (const runtime of ['bun', 'node', 'deno'] as const) {
    const program = programOf(runtime)
    if (program === undefined && process.env.CI === 'true') {
      throw new Error(`${runtime} is not installed`)
    }
    it.skipIf(program === undefined)(
      `says which port, by which setting, and what to do, and makes no database, on ${runtime}`,
      { timeout: 120_000 },
      async () => {
        const { port } = server.address() as AddressInfo
        const entry = join(root, 'icl', 'start', `${runtime}.ts`)
        const running = processes.start({
          name: runtime,
          program: program ?? '',
          args: runtime === 'deno' ? ['run', '-A', entry] : [entry],
          env: {
            ...sampleSettings,
            SVC_ICL_DATABASE_URL: `sqlite:${join(folder, 'icl.db')}`,
            SVC_ICL_PORT: String(port),
          },
        })
        expect(await running.exited).toBe(1)
        const log = await lastLogLines(running.logFile)
        expect(log).toContain(
          `error: The ICL cannot listen on port ${port} of 127.0.0.1 (EADDRINUSE)`,
        )
        expect(log).toMatch(/hint: .*SVC_ICL_PORT/)
        expect(await readdir(folder)).not.toContain('icl.db')
      },
    )
  }
})
