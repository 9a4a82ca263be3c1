import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { createFakeWorld, type FakeOptions } from './fake-world.ts'

const run = async (comparator: 'exact' | 'similar/2', options: FakeOptions = {}) => {
  const world = await createFakeWorld(options)
  const done = infer(world.context, 'Why?', { model: 'openai:gpt-4o-mini', comparator })
  const status = await done.then(
    (found) => found.status,
    (error: { code?: unknown }) => error.code,
  )
  return { status, world }
}

describe.each(['exact', 'similar/2'] as const)('a client that asks for %s', (comparator) => {
  it('names it in the preview and in its terms, and checks the answer by it', async () => {
    const { status, world } = await run(comparator)
    expect(status).toBe('accepted')
    expect(world.callsOf('previewQuorum').at(0)).toMatchObject({
      input: { query: { comparator } },
    })
    expect(world.callsOf('submitJob').at(0)).toMatchObject({
      input: { list: { body: { terms: { comparator } } } },
    })
  })

  it.each(['something else', '**answer** to Why?'])(
    'refuses an output that was changed to %s',
    async (delivered) => {
      expect((await run(comparator, { delivered })).status).toBe('output-mismatch')
    },
  )
})
