import { expect, it } from 'vitest'
import { createBatches } from '../../../icl/async/batches.ts'

it('does together, in their order, what comes for a key before its turn, and other keys side by side', async () => {
  const deferred: (() => void)[] = []
  const { add } = createBatches((work) => void deferred.push(work))
  const done: string[] = []
  const slow = Promise.withResolvers<void>()
  const work = async (items: readonly string[]) => {
    done.push(items.join(' '))
    if (items.includes('a1')) await slow.promise
  }
  const settle = async () => {
    const turns = async () => {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    }
    await turns()
    while (deferred.length > 0) {
      for (const go of deferred.splice(0)) go()
      await turns()
    }
  }
  for (const item of ['a1', 'a2', 'b1']) add(item.charAt(0), item, work)
  expect(done).toEqual([])
  await settle()
  expect(done).toEqual(['a1 a2', 'b1'])
  add('a', 'a3', work)
  await settle()
  add('a', 'a4', work)
  expect(done).toHaveLength(2)
  slow.resolve()
  await settle()
  expect(done).toEqual(['a1 a2', 'b1', 'a3 a4'])
})
