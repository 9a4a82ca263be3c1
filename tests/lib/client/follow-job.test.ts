import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import type { StepNews } from '../../../lib/client/steps.ts'
import { createFakeWorld } from './fake-world.ts'

const model = 'openai:gpt-4o-mini'

describe('following a job', () => {
  it('tells of events and resumes a broken stream after the last one', async () => {
    const { context, callsOf } = await createFakeWorld({
      views: (accepted) => [
        ...Array.from({ length: 8 }, () => ({ status: 'running' as const })),
        accepted,
      ],
      streams: [
        [
          { seq: 1, type: 'claimed' },
          { seq: 2, type: 'committed' },
        ],
        [{ seq: 3 }],
      ],
    })
    const details: (string | undefined)[] = []
    const onStep = ({ phase, detail }: StepNews) => {
      if (phase === 'progress') details.push(detail)
    }
    await infer(context, 'Why?', { model, onStep })
    expect(details.slice(0, 2)).toEqual(['claimed', 'committed'])
    const resumed = callsOf('followJob').map(
      ({ options }) => (options as { lastEventId?: string }).lastEventId,
    )
    expect(resumed.slice(0, 2)).toEqual([undefined, '2'])
  })

  it('looks at the job each second while there is no stream', async () => {
    const world = await createFakeWorld({
      views: (accepted) => [{ status: 'running' }, { status: 'running' }, accepted],
    })
    const { api } = world.context
    const context = {
      ...world.context,
      api: {
        ...api,
        followJob: async () => {
          throw new Error('no streams here')
        },
      },
    }
    const result = await infer(context, 'Why?', { model })
    expect(result.status).toBe('accepted')
    expect(result.timingsMs.inference).toBeGreaterThanOrEqual(1_900)
  })
})
