import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { createFakeWorld } from './fake-world.ts'

describe('an output key that is none', () => {
  for (const half of [-1n, 1n << 128n]) {
    it(`is refused with words (${half})`, async () => {
      const { context } = await createFakeWorld()
      const coprocessor = { ...context.coprocessor, decrypt: async () => half }
      const work = infer({ ...context, coprocessor }, 'Why?', { model: 'openai:gpt-4o-mini' })
      const code = await work.then(
        ({ status }) => status,
        (error: { code?: unknown }) => error.code,
      )
      expect(code).toBe('output-key-invalid')
    })
  }
})
