import { expect, it } from 'vitest'
import { createKeyedMutex } from '../../../icl/async/mutex.ts'

it('what has a key in common is done in turn, also after a failure; nothing else waits for it', async () => {
  const mutex = createKeyedMutex()
  const order: string[] = []
  const slow = Promise.withResolvers<void>()
  const first = mutex('a', async () => {
    await slow.promise
    order.push('a1')
    throw new Error('a1 failed')
  })
  const second = mutex('a', async () => order.push('a2'))
  await mutex('b', async () => order.push('b1'))
  expect(order).toEqual(['b1'])
  slow.resolve()
  await expect(first).rejects.toThrow('a1 failed')
  await second
  expect(order).toEqual(['b1', 'a1', 'a2'])
  expect(await mutex('a', async () => 'later')).toBe('later')
})
