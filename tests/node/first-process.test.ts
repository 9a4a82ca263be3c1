import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

const main = join(import.meta.dirname, '..', '..', 'node', 'main.ts')
// Processes of their own, as in a container. With users of its own, too, which lets anybody do that.
const asFirst = ['--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'] as const

describe('svc-node as the first process of a container', () => {
  if (spawnSync('unshare', [...asFirst, 'true']).status !== 0) {
    it.skip('needs process namespaces (unshare of util-linux)', () => {})
    return
  }
  let folder = ''
  let running: ChildProcess | undefined
  afterEach(async () => {
    running?.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })

  it('ends at SIGTERM before it runs, whatever it waits for', async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-first-'))
    const config = join(folder, 'config.json')
    spawnSync('mkfifo', [config])
    running = spawn('unshare', [...asFirst, process.execPath, main, 'run'], {
      env: { PATH: process.env.PATH, HOME: folder, SVC_CONFIG_PATH: config },
    })
    const ended = once(running, 'close')
    // This comes back when it reads its configuration. It waits for the content then.
    const writer = await open(config, 'w')
    const { pid } = running
    process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), 'SIGTERM')
    expect(await ended).toEqual([143, null])
    await writer.close()
  })
})
