import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { UncollectedError } from '../../../lib/client/inference.ts'
import type { StepNews } from '../../../lib/client/steps.ts'
import { elapsedSince } from '../../../lib/clock.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createFakeWorld } from './fake-world.ts'
import { passing, worldWhere } from './late-world.ts'

const model = 'openai:gpt-4o-mini'
describe('the answer of a job that was accepted', () => {
  const cases = [
    ['receipt', 'icl-unreachable'],
    ['chain', 'chain-unavailable'],
    ['output', 'blob-unavailable'],
    ['key', 'coprocessor-unavailable'],
  ] as const
  it.each(cases)('is waited for while the %s is away for minutes', async (late, code) => {
    const { context, callsOf } = await worldWhere(late, (elapsedMs) =>
      elapsedMs < 240_000 ? passing(code) : undefined,
    )
    const news: StepNews[] = []
    const options = { model, onStep: (one: StepNews) => void news.push(one) }
    const { status } = await infer(context, 'Why?', options)
    expect(status).toBe('accepted')
    expect(callsOf('cancelJob')).toEqual([])
    expect(news).toContainEqual(
      expect.objectContaining({ phase: 'progress', detail: `tried again: ${code}` }),
    )
  })

  it('is waited for as long as its program wants to', async () => {
    const { context } = await worldWhere('output', (elapsedMs) =>
      elapsedMs < 1_200_000 ? passing('blob-unavailable') : undefined,
    )
    const options = { model, collectTimeoutMs: 1_800_000 }
    expect(await infer(context, 'Why?', options)).toMatchObject({ status: 'accepted' })
  })

  it('has one time for all steps that fetch it', async () => {
    const { context, callsOf } = await worldWhere('receipt', (elapsedMs) =>
      elapsedMs < 200_000 ? passing('icl-unreachable') : undefined,
    )
    const { clock, blobs } = context
    const beganAt = clock.monotonic()
    const tries: number[] = []
    const download: typeof blobs.download = async (...args) => {
      if (callsOf('submitJob').length === 0) return await blobs.download(...args)
      tries.push(elapsedSince(clock, beganAt))
      throw passing('blob-unavailable')
    }
    await expect(
      infer({ ...context, blobs: { ...blobs, download } }, 'Why?', { model }),
    ).rejects.toMatchObject({ code: 'blob-unavailable', hint: expect.stringContaining('paid for') })
    expect(tries.at(-1)).toBeLessThan(320_000)
  })

  it('has its commitment looked for until the time for it is over', async () => {
    const away = (untilMs: number) =>
      worldWhere('commit', (elapsedMs) =>
        elapsedMs < untilMs ? passing('chain-unavailable') : undefined,
      )
    const short = await away(50_000)
    expect(await infer(short.context, 'Why?', { model })).toMatchObject({ status: 'accepted' })
    const long = await away(600_000)
    await expect(infer(long.context, 'Why?', { model })).rejects.toMatchObject({
      ...{ code: 'chain-unavailable', inference: { output: 'answer to Why?' } },
    })
    expect(long.tries.at(-1)).toBeLessThan(70_000)
  })

  it('is looked for again on a chain RPC that is behind', async () => {
    const { context } = await createFakeWorld()
    const { chain } = context
    const outputKeyAfter = (looks: number) => {
      let left = looks
      const outputKeyOf: typeof chain.outputKeyOf = async (...args) =>
        left-- > 0 ? undefined : await chain.outputKeyOf(...args)
      return infer({ ...context, chain: { ...chain, outputKeyOf } }, 'Why?', { model })
    }
    expect(await outputKeyAfter(3)).toMatchObject({ status: 'accepted' })
    await expect(outputKeyAfter(4)).rejects.toMatchObject({ code: 'receipt-differs' })
  })

  it('is asked for no sooner than the ICL says', async () => {
    const busy = new ProblemError('unavailable', 'No database', { retryAfterSeconds: 45 })
    let left = 3
    const { context, tries } = await worldWhere('receipt', () => (left-- > 0 ? busy : undefined))
    await infer(context, 'Why?', { model })
    expect(tries).toEqual([0, 45_000, 90_000, 135_000])
  })

  it('can be fetched later with the error that says that it could not be', async () => {
    const away: { error?: Error } = { error: passing('icl-unreachable') }
    const { context, tries } = await worldWhere('receipt', () => away.error)
    const error = await infer(context, 'Why?', { model }).catch((reason: unknown) => reason)
    if (!(error instanceof UncollectedError)) throw error
    expect(tries.at(-1)).toBeGreaterThanOrEqual(290_000)
    expect(tries.at(-1)).toBeLessThan(320_000)
    expect(error).toMatchObject({
      ...{ code: 'icl-unreachable', retryable: true, hint: expect.stringContaining('collect') },
    })
    // What is logged of it shows neither the token nor the key.
    expect(JSON.stringify(error)).not.toContain('read-token')
    delete away.error
    expect(await error.collect()).toMatchObject({ status: 'accepted', output: 'answer to Why?' })
  })

  it('can be fetched later when the wallet did not sign', async () => {
    const refused = new SvcError('wallet-refused', 'No', { hint: 'Approve it.' })
    const user: { error?: Error } = { error: refused }
    const { context, tries } = await worldWhere('key', () => user.error)
    const error = await infer(context, 'Why?', { model }).catch((reason: unknown) => reason)
    if (!(error instanceof UncollectedError)) throw error
    // Nobody is asked again unasked.
    expect(tries.length).toBeLessThanOrEqual(2)
    delete user.error
    expect(await error.collect()).toMatchObject({ status: 'accepted' })
  })

  it('is not waited for when it was refused for good, or nobody wants it any more', async () => {
    const final = new ProblemError('token-invalid', 'No')
    const refused = await worldWhere('receipt', () => final)
    await expect(infer(refused.context, 'Why?', { model })).rejects.toMatchObject({
      ...{ name: 'SvcError', code: 'token-invalid' },
    })
    expect(refused.tries).toHaveLength(1)

    const stop = new AbortController()
    const stopped = await worldWhere('receipt', () => {
      stop.abort(new Error('enough'))
      return passing('icl-unreachable')
    })
    const work = infer(stopped.context, 'Why?', { model, signal: stop.signal })
    await expect(work).rejects.toThrow('enough')
    expect(stopped.tries).toHaveLength(1)
  })
})
