import { expect, it } from 'vitest'
import { runBurst } from './burst.ts'

it('a burst of prompts is answered whole and in order by few nodes under tight limits, and a place in the queue is told', async () => {
  const { sent, accepted, lost, overtaken, places } = await runBurst({
    ...{ nodes: 3, prompts: 10, clients: 2, bystander: false },
    iclEnv: {
      SVC_ICL_RATE_PREVIEW: '2/1',
      SVC_ICL_RATE_UPLOAD: '2/1',
      SVC_ICL_JOBS_AT_ONCE: '5',
    },
    tell: () => {},
  })
  expect(lost).toEqual({})
  expect([accepted, overtaken]).toEqual([sent, 0])
  for (const { place, waiting } of places) expect(place).toBeLessThanOrEqual(waiting)
})
