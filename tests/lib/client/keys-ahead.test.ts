import { describe, expect, it, vi } from 'vitest'
import type { TermsOptions } from '../../../lib/client/choose-terms.ts'
import { wishOf } from '../../../lib/client/choose-terms.ts'
import type { ClientContext } from '../../../lib/client/context.ts'
import { infer } from '../../../lib/client/infer.ts'
import { createKeysAhead, type KeyAhead } from '../../../lib/client/keys-ahead.ts'
import { inferenceSteps, type StepNews } from '../../../lib/client/steps.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { SubmitJob } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createFakeWorld, type FakeOptions } from './fake-world.ts'

const model = 'openai:gpt-4o-mini'
const began = 1_800_000_000

/** A world whose chain has the time that the test gives it. */
async function worldWithKeys(options: FakeOptions = {}) {
  const world = await createFakeWorld(options)
  const time = { now: began }
  const chain = { ...world.context.chain, time: async () => time.now }
  const context: ClientContext = { ...world.context, chain }
  const keys = createKeysAhead(context)
  const count = (wish: TermsOptions = { model }) => keys.count(wishOf(wish), time.now)
  return { ...world, context, keys, time, count }
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (reason: unknown) => reason,
  )

const handlesOf = (submissions: readonly { readonly input: unknown }[]) =>
  submissions.map(({ input }) => (input as SubmitJob).kpHighHandle)

describe('a key stored ahead', () => {
  it('leaves a job the list and one transaction, and is used once', async () => {
    const { context, keys, callsOf, count } = await worldWithKeys()
    await keys.store(wishOf({ model }))
    expect(count()).toBe(1)
    const news: StepNews[] = []
    const options = { model, onStep: (item: StepNews) => news.push(item) }
    const result = await infer(context, 'Why?', options, { keys })
    expect(result).toMatchObject({ status: 'accepted', output: 'answer to Why?' })
    const ahead = ['preview', 'encrypt-key', 'store-key']
    const steps = inferenceSteps.filter((step) => !ahead.includes(step))
    expect(news.filter(({ phase }) => phase === 'start').map(({ step }) => step)).toEqual(steps)
    expect(new Set(Object.keys(result.timingsMs))).toEqual(new Set([...steps, 'total']))
    expect(callsOf('storeKey')).toHaveLength(1)
    expect(count()).toBe(0)
    await infer(context, 'Why?', { model }, { keys })
    expect(callsOf('storeKey')).toHaveLength(2)
    expect(new Set(handlesOf(callsOf('submitJob'))).size).toBe(2)
  })

  it('serves no job of other terms', async () => {
    const { keys, time, count } = await worldWithKeys()
    await keys.store(wishOf({ model }))
    const others: readonly TermsOptions[] = [
      { model: 'openai:other' },
      { model, minTier: 1 },
      { model, verifierCount: 3 },
      { model, comparator: 'similar/2' },
      { model, minMatches: 2 },
      { model, listLength: 4 },
    ]
    for (const other of others) expect(keys.take(wishOf(other), time.now)).toBeUndefined()
    // The defaults, spelled out.
    const same = { model, minTier: 0, verifierCount: 2, minMatches: 1, listLength: 9 }
    expect(count({ ...same, comparator: 'exact' })).toBe(1)
    expect(keys.take(wishOf(same), time.now)).toBeDefined()
  })

  it('lapses 1,500 s after its pool was asked for, by the time of the chain', async () => {
    const { keys, time, count } = await worldWithKeys()
    await keys.store(wishOf({ model }))
    time.now = began + 1_499
    expect(count()).toBe(1)
    time.now = began + 1_500
    expect(keys.take(wishOf({ model }), time.now)).toBeUndefined()
  })

  it('goes to one of two jobs that run side by side', async () => {
    const { context, keys, callsOf } = await worldWithKeys()
    await keys.store(wishOf({ model }))
    // The fake ICL knows one job at a time: only what was submitted counts here.
    await Promise.allSettled(
      ['One?', 'Two?'].map((text) => infer(context, text, { model }, { keys })),
    )
    expect(new Set(handlesOf(callsOf('submitJob'))).size).toBe(2)
    expect(callsOf('storeKey')).toHaveLength(2)
  })

  it('that the ICL draws no list for any more is replaced by a new one, once', async () => {
    const codes = [
      'key-expired',
      'terms-refused',
      'not-enough-nodes',
      'not-enough-serving',
    ] as const
    for (const code of codes) {
      for (const refusals of [1, 2]) {
        const { context, keys, callsOf } = await worldWithKeys()
        await keys.store(wishOf({ model }))
        const drawList = vi.fn(context.api.drawList)
        for (let left = refusals; left > 0; left--) {
          drawList.mockImplementationOnce(() => Promise.reject(new ProblemError(code, 'Too old')))
        }
        const failed: StepNews[] = []
        const onStep = (news: StepNews) => news.phase === 'failed' && failed.push(news)
        const api = { ...context.api, drawList }
        const outcome = await infer({ ...context, api }, 'Why?', { model, onStep }, { keys }).catch(
          (error: unknown) => error,
        )
        expect(callsOf('storeKey')).toHaveLength(2)
        expect(failed).toHaveLength(refusals - 1)
        expect(outcome).toMatchObject(
          refusals === 1 ? { status: 'accepted', output: 'answer to Why?' } : { code },
        )
      }
    }
  })

  it('whose block is lost in a reorganisation is replaced as well', async () => {
    const { context, keys, callsOf } = await worldWithKeys()
    await keys.store(wishOf({ model }))
    let lost: bigint | undefined
    const drawList: typeof context.api.drawList = async (input, ...more) => {
      lost ??= input.body.kpHighHandle
      if (input.body.kpHighHandle === lost) throw new ProblemError('key-unknown', 'No such key')
      return await context.api.drawList(input, ...more)
    }
    const api = { ...context.api, drawList }
    const result = await infer({ ...context, api }, 'Why?', { model }, { keys })
    expect(result.status).toBe('accepted')
    expect(callsOf('storeKey')).toHaveLength(2)
  })

  it('whose list does not hold ends the job: the ICL gets no second draw for that', async () => {
    const changeList: FakeOptions['changeList'] = ({ list }) => ({ list: list.toReversed() })
    const { context, keys, callsOf } = await worldWithKeys({ changeList })
    await keys.store(wishOf({ model }))
    const error = await errorOf(infer(context, 'Why?', { model }, { keys }))
    expect(error).toMatchObject({ code: 'quorum-untrusted' })
    expect(callsOf('storeKey')).toHaveLength(1)
  })
})

describe('storing a key ahead', () => {
  it('that fails leaves no key behind', async () => {
    const away = new SvcError('chain-unavailable', 'Away', { hint: '', retryable: true })
    const { context, count, time } = await worldWithKeys()
    const broken: readonly Partial<ClientContext>[] = [
      { coprocessor: { ...context.coprocessor, encrypt: () => Promise.reject(away) } },
      { api: { ...context.api, previewQuorum: () => Promise.reject(away) } },
      { chain: { ...context.chain, storeKey: () => Promise.reject(away) } },
    ]
    for (const part of broken) {
      const keys = createKeysAhead({ ...context, ...part })
      expect(await errorOf(keys.store(wishOf({ model })))).toBe(away)
      expect(keys.count(wishOf({ model }), time.now)).toBe(0)
    }
    expect(count()).toBe(0)
  })

  it('takes no key whose transaction waited until its pool was too old', async () => {
    const { context, time } = await worldWithKeys()
    const storeKey: typeof context.chain.storeKey = async (...args) => {
      time.now += 301
      return await context.chain.storeKey(...args)
    }
    const keys = createKeysAhead({ ...context, chain: { ...context.chain, storeKey } })
    const error = await errorOf(keys.store(wishOf({ model })))
    expect(error).toMatchObject({ code: 'terms-refused', retryable: true })
    expect(keys.count(wishOf({ model }), time.now)).toBe(0)
  })

  it('ends when it is aborted', async () => {
    const { context, time } = await worldWithKeys()
    const stop = new AbortController()
    const encrypt: typeof context.coprocessor.encrypt = (_high, _low, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => reject(options.signal?.reason))
        stop.abort()
      })
    const keys = createKeysAhead({ ...context, coprocessor: { ...context.coprocessor, encrypt } })
    expect(await errorOf(keys.store(wishOf({ model }), stop.signal))).toBe(stop.signal.reason)
    expect(keys.count(wishOf({ model }), time.now)).toBe(0)
  })

  it('makes another key each time, and the oldest goes first', async () => {
    const { keys, time, count } = await worldWithKeys()
    for (let index = 0; index < 3; index++) await keys.store(wishOf({ model }))
    expect(count()).toBe(3)
    const take = (): KeyAhead => {
      const key = keys.take(wishOf({ model }), time.now)
      if (key === undefined) throw new Error('There is no key')
      return key
    }
    const taken = [take(), take(), take()]
    const handles = taken.map(({ stored }) => stored.highHandle)
    expect(handles).toEqual(handles.toSorted((a, b) => Number(a - b)))
    expect(new Set(taken.map(({ promptKey }) => promptKey.join())).size).toBe(3)
    expect(count()).toBe(0)
  })
})
