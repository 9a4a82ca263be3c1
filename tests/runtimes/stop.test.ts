import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programOf } from '../../demo/runtime-programs.ts'
import { eventually } from '../eventually.ts'
import { keepAsking } from '../http/keep-asking.ts'
import { joinNode } from '../icl/test-icl.ts'
import { openStream } from './rude-clients.ts'
import { dealWith } from './running-icl.ts'
import { type RuntimesWorld, startRuntimesWorld, tpmNodeName } from './world.ts'

let world: RuntimesWorld
beforeAll(async () => {
  world = await startRuntimesWorld()
}, 120_000)
afterAll(() => world.stop())

describe('an ICL that is told to stop', () => {
  for (const runtime of ['bun', 'node', 'deno'] as const) {
    const missing = programOf(runtime) === undefined ? `${runtime} is not installed` : undefined
    if (missing && process.env.CI === 'true') throw new Error(missing)
    if (missing) {
      it.skip(missing, () => {})
      continue
    }
    it(`is not ready first, then answers what it holds and exits with 0 on ${runtime}`, async () => {
      const started = await world.start(runtime, { SVC_ICL_DRAIN_SECONDS: '3600' })
      const { process: running } = started
      const icl = dealWith(world, runtime, started)
      const leave = await openStream(icl)
      const idle = await joinNode(icl.outside, tpmNodeName)
      const held = idle.api.getAssignments(
        { params: { address: idle.address }, query: { wait: 30 } },
        { timeoutMs: 60_000 },
      )
      await eventually('what is held', async () => {
        const metrics = await (await icl.ask('/metrics')).text()
        return /held_requests\{kind="events"\} 1$/m.test(metrics) &&
          /held_requests\{kind="poll"\} 1$/m.test(metrics)
          ? true
          : undefined
      })
      const asked = Promise.withResolvers<void>()
      const last = keepAsking(started.url, asked.resolve)
      await asked.promise
      running.kill('SIGTERM')
      expect(await last).toMatch(/^HTTP\/1\.1 503 .*^connection: close/ims)
      // An hour is what it may take: it ends because nothing is held any more.
      expect((await held).assignments).toEqual([])
      expect(await running.exited).toBe(0)
      leave()
    })
  }
})
