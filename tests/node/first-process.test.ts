import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { signalFirst, spawnFirst, whyNotFirst } from '../first-process.ts'

const main = join(import.meta.dirname, '..', '..', 'node', 'main.ts')

describe('svc-node as the first process of a container', () => {
  const missing = whyNotFirst()
  if (missing !== undefined) {
    it.skip(missing, () => {})
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
    running = spawnFirst([main, 'run'], {
      env: { PATH: process.env.PATH, HOME: folder, SVC_CONFIG_PATH: config },
    })
    const ended = once(running, 'close')
    // This comes back when it reads its configuration. It waits for the content then.
    const writer = await open(config, 'w')
    signalFirst(running, 'SIGTERM')
    expect(await ended).toEqual([143, null])
    await writer.close()
  })
})
