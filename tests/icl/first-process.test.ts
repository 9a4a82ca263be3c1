import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

const main = join(import.meta.dirname, '..', '..', 'icl', 'start', 'bun.ts')
const asFirst = ['--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'] as const

describe('an admin command as the first process of a container', () => {
  if (spawnSync('unshare', [...asFirst, 'true']).status !== 0) {
    it.skip('needs process namespaces (unshare of util-linux)', () => {})
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
    running = spawn('unshare', [...asFirst, process.execPath, main, 'admin', 'stats'], {
      env: { PATH: process.env.PATH, SVC_ICL_DATABASE_URL: `mongodb://127.0.0.1:${port}/svc` },
    })
    const ended = once(running, 'close')
    await once(server, 'connection')
    const { pid } = running
    process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), 'SIGINT')
    expect(await ended).toEqual([130, null])
  })
})
