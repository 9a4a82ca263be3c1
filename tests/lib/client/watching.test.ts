import { describe, expect, it } from 'vitest'
import type { ClientContext } from '../../../lib/client/context.ts'
import { readServerEvents } from '../../../lib/client/event-stream.ts'
import { followJob } from '../../../lib/client/follow-job.ts'
import { watchEvents } from '../../../lib/client/watch-events.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { JobEvent, JobView } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { aJobId } from '../../branded.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

const jobId = aJobId(`0x${'1'.repeat(64)}`)
const event = (seq: number): JobEvent => ({ seq, at: 1, type: 'claimed', phase: 'open' })
const written = (...events: readonly JobEvent[]) =>
  events.map((one) => `id: ${one.seq}\ndata: ${JSON.stringify(one)}\n\n`).join('')
const endless = () => new Response(new ReadableStream({ start: () => {} }))

type FollowCall = {
  readonly lastEventId?: string
  readonly readToken?: string
  readonly signal?: AbortSignal
}

describe('watching the events of a job', () => {
  /** Watches streams one after the other, the last one endless, for a while. */
  async function watch(streams: readonly (string | Error)[], forMs: number, after?: number) {
    const clock = createVirtualClock()
    const began = clock.now()
    const calls: [number, FollowCall][] = []
    const told: unknown[] = []
    const api = {
      followJob: async (input: object, options: FollowCall) => {
        expect(input).toEqual({ params: { jobId } })
        calls.push([clock.now() - began, options])
        const stream = streams[calls.length - 1]
        if (stream instanceof Error) throw stream
        return stream === undefined ? endless() : new Response(stream)
      },
    }
    const stop = new AbortController()
    const work = watchEvents(
      { api, clock } as unknown as ClientContext,
      { jobId, readToken: 'token', ...(after !== undefined && { after }) },
      { onEvent: ({ seq }) => told.push(seq), onStream: (open) => told.push(open) },
      stop.signal,
    )
    await clock.advance(forMs)
    stop.abort()
    await work
    return { calls, told }
  }

  it('tells of each, and goes on after the last when the stream ends', async () => {
    const { calls, told } = await watch([written(event(4), event(5)), written(event(6))], 2_000)
    expect(told).toEqual([true, 4, 5, false, true, 6, false, true])
    expect(calls.map(([, { lastEventId }]) => lastEventId)).toEqual([undefined, '5', '6'])
    expect(calls[0]?.[1].readToken).toBe('token')
    expect('lastEventId' in calls[0]![1]).toBe(false)
    expect(calls.map(([at]) => at)).toEqual([0, 500, 1_000])
  })

  it('begins after what is known already, and passes over what is no event', async () => {
    const strange = 'data: {"seq":1}\n\ndata: no json\n\n'
    const { calls, told } = await watch([strange + written(event(8))], 600, 3)
    expect(calls.map(([, { lastEventId }]) => lastEventId)).toEqual(['3', '8'])
    expect(told).toEqual([true, 8, false, true])
  })

  it('waits twice as long after each failure, up to ten seconds', async () => {
    const away = new Error('away')
    const { calls, told } = await watch([away, away, away, away, away, away, away], 60_000)
    expect(calls.map(([at]) => at)).toEqual([0, 500, 1_500, 3_500, 7_500, 15_500, 25_500, 35_500])
    expect(told).toEqual([false, false, false, false, false, false, false, true])
  })

  it('takes a stream that is silent for a minute for a broken one', async () => {
    const clock = createVirtualClock()
    let count = 0
    const told: boolean[] = []
    const stop = new AbortController()
    const api = {
      followJob: async () => {
        count++
        return endless()
      },
    }
    const work = watchEvents(
      { api, clock } as unknown as ClientContext,
      { jobId, readToken: 'token' },
      { onEvent: () => {}, onStream: (open) => told.push(open) },
      stop.signal,
    )
    await clock.advance(59_999)
    expect(count).toBe(1)
    await clock.advance(502)
    expect([count, told]).toEqual([2, [true, false, true]])
    stop.abort()
    await work
    expect(told).toEqual([true, false, true])
  })
})

describe('a stream of events', () => {
  const read = async (...chunks: readonly string[]) => {
    const body = new ReadableStream({
      start: (controller) => {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
        controller.close()
      },
    })
    const events: unknown[] = []
    const options = { clock: createVirtualClock(), idleMs: 1_000 }
    for await (const one of readServerEvents(new Response(body), options)) events.push(one)
    return events
  }

  it('is read field by field', async () => {
    expect(await read('data:a\ndata: b\ndata:  c\nid: 7\nevent: x\n\n')).toEqual([
      { id: '7', data: 'a\nb\n c' },
    ])
    expect(await read('id: 1\n\n', ': ping\n\n', 'data\n\n')).toEqual([{ id: undefined, data: '' }])
    expect(await read('data: a\r', '\n\r\ndata: b\r\r')).toEqual([
      { id: undefined, data: 'a' },
      { id: undefined, data: 'b' },
    ])
    expect(await read('data: \u2028x\n\n')).toEqual([{ id: undefined, data: '\u2028x' }])
    expect(await read('xdata: a\nDATA: b\n\n')).toEqual([])
  })

  it('of no body has no events', async () => {
    const options = { clock: createVirtualClock(), idleMs: 1_000 }
    const events: unknown[] = []
    for await (const one of readServerEvents(new Response(null), options)) events.push(one)
    expect(events).toEqual([])
  })

  it('is read to its end when each of its characters comes by itself', async () => {
    const text = `id: 1\r\ndata: ${'x'.repeat(60_000)}\r\ndata: y\r\n\r\n`
    expect(await read(...text)).toEqual([{ id: '1', data: `${'x'.repeat(60_000)}\ny` }])
  })

  it('has no event that never ends', async () => {
    const most = `data: ${'x'.repeat(64 * 1024 - 6)}`
    expect(await read(most, '\n\n')).toHaveLength(1)
    await expect(read(...Array(1_100).fill(`data: ${'x'.repeat(60)}\n`))).rejects.toMatchObject({
      code: 'event-too-long',
    })
    await expect(read(`${most}x`)).rejects.toMatchObject({
      ...{
        code: 'event-too-long',
        retryable: false,
        hint: expect.stringContaining('without its events'),
      },
    })
  })
})

describe('following a job', () => {
  const network = sampleNetwork()
  const view = (changes: Partial<JobView>) =>
    ({
      ...{ status: 'running', quorum: [], model_id: 'openai:test', created_at: 1, deadline: 1 },
      ...changes,
    }) as unknown as JobView

  /** Follows a job whose views come one after the other, the last again and again. */
  async function follow(
    views: readonly (JobView | Error)[],
    options: Partial<Parameters<typeof followJob>[1]> = {},
    stream: () => Promise<Response> = () => Promise.reject(new Error('no streams')),
  ) {
    const clock = createVirtualClock()
    const began = clock.now()
    const looks: number[] = []
    const api = {
      followJob: stream,
      getJob: async () => {
        const one = views[Math.min(looks.length, views.length - 1)]!
        looks.push(clock.now() - began)
        if (one instanceof Error) throw one
        return one
      },
    }
    const call = followJob({ api, clock, network } as unknown as ClientContext, {
      ...{ jobId, readToken: 'token' },
      ...options,
    })
    const outcome = await clock.until(call.catch((error: unknown) => error))
    return { outcome, looks, tookMs: clock.now() - began }
  }
  const stuck = view({ status: 'open', reason: 'not-enough-nodes' })

  it('ends with the job in any settled phase', async () => {
    for (const status of ['accepted', 'disputed', 'expired', 'cancelled'] as const) {
      const { outcome, looks } = await follow([
        view({}),
        view({ status: 'running' }),
        view({ status }),
      ])
      expect(outcome).toMatchObject({ status })
      expect(looks).toHaveLength(3)
    }
  })

  it('looks less often while a stream is open, and more often to give up a stuck job', async () => {
    const views = [view({}), view({}), view({ status: 'accepted' })]
    const open = async () => endless()
    const gaps = ({ looks }: { looks: readonly number[] }) =>
      looks.slice(1).map((at, index) => at - looks[index]!)
    expect(gaps(await follow(views, {}, open))).toEqual([10_000, 10_000])
    expect(gaps(await follow(views, { giveUpWhenStuckMs: 60_000 }, open))).toEqual([6_000, 6_000])
    expect(gaps(await follow(views, { giveUpWhenStuckMs: 3_000 }, open))).toEqual([1_000, 1_000])
    expect(Math.max(...gaps(await follow(views)))).toBeLessThanOrEqual(1_000)
  })

  it('looks at a new job only when an event says that it has settled, or a stream breaks', async () => {
    const accepted: JobEvent = { ...event(2), type: 'accepted', phase: 'accepted' }
    const { looks } = await follow(
      [view({ status: 'accepted' })],
      { isNew: true },
      async () => new Response(written(event(1), accepted)),
    )
    expect(looks).toEqual([0])
    const broken = await follow([view({}), view({ status: 'accepted' })], { isNew: true })
    expect(broken.looks).toEqual([0, 1_000])
  })

  it('listens to an accepted job until it is on chain, or its caller leaves', async () => {
    for (const ends of [true, false]) {
      let end = () => {}
      let signal: AbortSignal | undefined
      const text = written({ ...event(1), type: 'accepted', phase: 'accepted' })
      const body = new ReadableStream({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode(text))
          end = () => controller.close()
        },
      })
      let rings = 0
      const until = new AbortController()
      const further = { bell: { ring: () => void rings++ }, until: until.signal }
      const stream = async (_: object, options: FollowCall) => {
        signal = options.signal
        return new Response(body)
      }
      const accepted = [view({ status: 'accepted' })]
      await follow(accepted, { isNew: true, further }, stream as () => Promise<Response>)
      expect([rings, signal?.aborted]).toEqual([0, false])
      if (ends) end()
      await new Promise((resolve) => setTimeout(resolve, 10))
      expect(rings).toBe(ends ? 1 : 0)
      until.abort()
      expect(signal?.aborted).toBe(true)
    }
  })

  it('rings at once for an accepted job whose stream has ended before', async () => {
    let rings = 0
    const further = { bell: { ring: () => void rings++ }, until: new AbortController().signal }
    await follow([view({ status: 'accepted' })], { isNew: true, further })
    expect(rings).toBe(1)
  })

  it('gives up a job that lacks nodes for too long at a stretch', async () => {
    const { outcome, tookMs } = await follow([view({}), stuck], { giveUpWhenStuckMs: 5_000 })
    expect(outcome).toMatchObject({ code: 'not-enough-nodes' })
    expect(tookMs).toBeGreaterThanOrEqual(5_000)
    expect(tookMs).toBeLessThan(8_000)
    const between = [
      stuck,
      stuck,
      stuck,
      stuck,
      view({}),
      stuck,
      stuck,
      stuck,
      view({ status: 'accepted' }),
    ]
    const saved = await follow(between, { giveUpWhenStuckMs: 5_000 })
    expect(saved.outcome).toMatchObject({ status: 'accepted' })
  })

  it('passes over an ICL that is away, but not over a refusal', async () => {
    const away = new SvcError('icl-unreachable', 'Away', { hint: '', retryable: true })
    const busy = new ProblemError('rate-limited', 'Busy')
    const back = await follow([away, busy, view({ status: 'accepted' })])
    expect(back.outcome).toMatchObject({ status: 'accepted' })
    for (const refusal of [
      new ProblemError('job-not-found', 'No'),
      new SvcError('x', 'No', { hint: '' }),
      new TypeError('bug'),
    ]) {
      expect((await follow([view({}), refusal])).outcome).toBe(refusal)
    }
  })

  it('is over half a minute after the time that a job may take', async () => {
    const limitMs = network.limits.job_seconds * 1_000 + 30_000
    const { outcome, tookMs } = await follow([view({})])
    expect(outcome).toMatchObject({
      ...{ code: 'job-overdue', retryable: true, hint: expect.stringContaining('`--open`') },
      message: 'The ICL has not settled the job within the time it allows',
    })
    expect(tookMs).toBeGreaterThan(limitMs)
    expect(tookMs).toBeLessThan(limitMs + 2_000)
  })

  it('may have an answer that was paid for, which is told when the ICL stays away', async () => {
    const away = new SvcError('icl-unreachable', 'Away', { hint: 'Wait.', retryable: true })
    expect((await follow([away])).outcome).toMatchObject({
      ...{ code: 'icl-unreachable', message: 'Away', retryable: true, cause: away },
      hint: expect.stringMatching(
        new RegExp(`^Wait\\. The job ${jobId} may have an answer .*\`--open\`.* pays again`),
      ),
    })
  })

  it('heeds that the ICL was away and has given the job as much more time', async () => {
    const times = { created_at: 1, deadline: 1 + network.limits.job_seconds + 120 }
    const { outcome, tookMs } = await follow([view(times)])
    expect(outcome).toMatchObject({ code: 'job-overdue' })
    expect(tookMs).toBeGreaterThan((network.limits.job_seconds + 150) * 1_000)
  })

  it('waits no longer than outages may add, whatever the ICL says', async () => {
    const { outcome, tookMs } = await follow([view({ created_at: 1, deadline: 99_999 })])
    expect(outcome).toMatchObject({ code: 'job-overdue' })
    const limitMs = (network.limits.job_seconds + 600 + 30) * 1_000
    expect(tookMs).toBeGreaterThan(limitMs)
    expect(tookMs).toBeLessThan(limitMs + 2_000)
  })

  it('ends with the reason of who gives up', async () => {
    const reason = new Error('enough')
    const caller = new AbortController()
    const views = [view({}), view({})]
    const clock = createVirtualClock()
    const api = {
      followJob: async () => endless(),
      getJob: async () => views[0],
    }
    const call = followJob({ api, clock, network } as unknown as ClientContext, {
      ...{ jobId, readToken: 'token', signal: caller.signal },
    }).catch((error: unknown) => error)
    await clock.advance(3_000)
    caller.abort(reason)
    expect(await clock.until(call)).toBe(reason)
  })
})
