import { expect, it } from 'vitest'
import { createPace } from '../../icl/store/bridge/pace.ts'

it('saves while others are replayed go half as fast as it, in their order, and all at its end', async () => {
  const pace = createPace()
  const gone: number[] = []
  for (let count = 0; count < 6; count++) void pace.take().then(() => gone.push(count))
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  await settle()
  expect(gone).toEqual([])
  for (let count = 0; count < 5; count++) pace.step(1)
  await settle()
  expect(gone).toEqual([0, 1])
  pace.end()
  await settle()
  expect(gone).toEqual([0, 1, 2, 3, 4, 5])
  await pace.take()
})
