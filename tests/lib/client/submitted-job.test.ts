import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { createFakeWorld } from './fake-world.ts'

describe('who waits for the job', () => {
  it('learns its id and token before it has settled, and its events', async () => {
    const heard: string[] = []
    const { context, callsOf } = await createFakeWorld({
      // The job settles once its event was told.
      views: (accepted) => [heard.includes('claimed') ? accepted : { status: 'running' }],
      streams: [[{ type: 'claimed' }]],
    })
    const result = await infer(context, 'Why?', {
      model: 'openai:gpt-4o-mini',
      onSubmitted: ({ jobId, readToken }) => heard.push(`${jobId} ${readToken}`),
      onEvent: ({ type }) => heard.push(type),
    })
    expect(heard).toEqual([`${result.jobId} read-token`, 'claimed'])
    expect(callsOf('cancelJob').length).toBe(0)
  })

  it('has the job cancelled when its own function fails', async () => {
    const { context, callsOf } = await createFakeWorld()
    const work = infer(context, 'Why?', {
      model: 'openai:gpt-4o-mini',
      onSubmitted: () => {
        throw new RangeError('mine')
      },
    })
    await expect(work).rejects.toThrow('mine')
    expect(callsOf('cancelJob').length).toBe(1)
  })

  it('has the job cancelled that the ICL was just taking in, and learns its id', async () => {
    const { context, callsOf } = await createFakeWorld({ views: () => [{ status: 'running' }] })
    const stop = new AbortController()
    const submitJob: typeof context.api.submitJob = async (input, options) => {
      stop.abort(new Error('enough'))
      options?.signal?.throwIfAborted()
      return await context.api.submitJob(input, options)
    }
    const heard: string[] = []
    const work = infer({ ...context, api: { ...context.api, submitJob } }, 'Why?', {
      model: 'openai:gpt-4o-mini',
      signal: stop.signal,
      onSubmitted: ({ readToken }) => heard.push(readToken),
    })
    await expect(work).rejects.toThrow('enough')
    expect(heard).toEqual(['read-token'])
    expect(callsOf('cancelJob').map(({ options }) => options)).toEqual([
      expect.objectContaining({ readToken: 'read-token' }),
    ])
  })

  it('waits no longer than a moment for an ICL that does not answer, and asks it to cancel all the same', async () => {
    const { context, callsOf } = await createFakeWorld()
    const stop = new AbortController()
    const submitJob: typeof context.api.submitJob = (_, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => reject(options.signal?.reason))
        stop.abort(new Error('enough'))
      })
    const work = infer({ ...context, api: { ...context.api, submitJob } }, 'Why?', {
      model: 'openai:gpt-4o-mini',
      signal: stop.signal,
    })
    await expect(work).rejects.toThrow('enough')
    expect(callsOf('cancelJob').length).toBe(1)
  })
})
