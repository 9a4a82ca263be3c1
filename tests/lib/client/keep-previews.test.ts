import { expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { keepPreviews } from '../../../lib/client/keep-previews.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { createFakeWorld, type FakeOptions } from './fake-world.ts'

async function start(roomBytes = 100 * 1024 * 1024, options: FakeOptions = {}) {
  const { context } = await createFakeWorld(options)
  const clock = createVirtualClock(1_800_000_000_000)
  let asked = 0
  let refusal: ProblemError | undefined
  const { previewQuorum, drawList } = context.api
  const api: typeof context.api = {
    ...context.api,
    previewQuorum: async (...args) => {
      asked += 1
      return { ...(await previewQuorum(...args)), prompt_room_bytes: roomBytes }
    },
    drawList: async (...args) => {
      if (refusal) throw refusal
      return await drawList(...args)
    },
  }
  const kept = { ...context, api: keepPreviews(api, clock) }
  const run = (model = 'openai:gpt-4o-mini') => infer(kept, 'Why?', { model })
  const refuse = (error?: ProblemError) => {
    refusal = error
  }
  return { clock, run, refuse, asked: () => asked }
}

it('jobs of one client share a preview for 30 s, those of another wish have one of their own', async () => {
  const { clock, run, asked } = await start()
  await run()
  await run()
  expect(asked()).toBe(1)
  await run('openai:another').catch(() => {})
  expect(asked()).toBe(2)
  await clock.jump(30_000)
  await run()
  expect(asked()).toBe(3)
  // As after a sleep of the machine.
  clock.leap(30_000)
  await run()
  expect(asked()).toBe(4)
})

it('a preview is asked for again once the ICL has refused', async () => {
  const { run, refuse, asked } = await start()
  await run()
  refuse(new ProblemError('terms-refused', 'the pool is too old'))
  await expect(run()).rejects.toMatchObject({ code: 'terms-refused' })
  refuse()
  await run()
  expect(asked()).toBe(2)
})

it('a preview is asked for again once a job had no answer', async () => {
  const { run, asked } = await start(undefined, { views: () => [{ status: 'expired' }] })
  await run()
  await run()
  expect(asked()).toBe(2)
})

it('a preview is asked for each time while the room for prompts is small', async () => {
  const { run, asked } = await start(2 * 1024 * 1024)
  await run()
  await run()
  expect(asked()).toBe(2)
})
