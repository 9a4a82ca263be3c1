import { expect, it } from 'vitest'
import { createTurnsByKey } from '../../icl/turns.ts'

it('what has a key in common is done in turn, also after a failure; nothing else waits for it', async () => {
  const turns = createTurnsByKey()
  const order: string[] = []
  const slow = Promise.withResolvers<void>()
  const first = turns('a', async () => {
    await slow.promise
    order.push('a1')
    throw new Error('a1 failed')
  })
  const second = turns('a', async () => order.push('a2'))
  await turns('b', async () => order.push('b1'))
  expect(order).toEqual(['b1'])
  slow.resolve()
  await expect(first).rejects.toThrow('a1 failed')
  await second
  expect(order).toEqual(['b1', 'a1', 'a2'])
  expect(await turns('a', async () => 'later')).toBe('later')
})
