import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { signalFirst, spawnFirst, whyNotFirst } from '../first-process.ts'

const main = join(import.meta.dirname, '..', '..', 'icl', 'start', 'bun.ts')

describe('an admin command as the first process of a container', () => {
  const missing = whyNotFirst()
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let running: ChildProcess | undefined
  // A database that never responds.
  const server = createServer()
  afterEach(() => {
    running?.kill('SIGKILL')
    server.close()
  })

  it('ends at Ctrl-C while it waits for the database', async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    running = spawnFirst([main, 'admin', 'stats'], {
      env: { PATH: process.env.PATH, SVC_ICL_DATABASE_URL: `mongodb://127.0.0.1:${port}/svc` },
    })
    const ended = once(running, 'close')
    await once(server, 'connection')
    signalFirst(running, 'SIGINT')
    expect(await ended).toEqual([130, null])
  })
})
