import { describe, expect, it, vi } from 'vitest'
import type { Coprocessor } from '../../../lib/coprocessor/coprocessor.ts'
import { joinKey } from '../../../lib/sealing.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { createOutputKeys } from '../../../node/jobs/output-keys.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { countingRandom, fakeCoprocessor, recordingLog } from '../fakes.ts'

const proofMs = 10_000

/** A stock of keys whose proofs take 10 s. */
function createStock() {
  const clock = createVirtualClock()
  const log = recordingLog()
  const coprocessor = fakeCoprocessor()
  const encrypt = vi.fn<Coprocessor['encrypt']>(async (high, low, options) => {
    await clock.sleep(proofMs, options?.signal)
    return await coprocessor.encrypt(high, low)
  })
  const keys = createOutputKeys({ coprocessor: { encrypt }, random: countingRandom(), clock, log })
  const stop = new AbortController()
  const { signal } = new AbortController()
  return {
    ...{ clock, log, encrypt, coprocessor, stop },
    begin: () => keys.keepReady(stop.signal),
    take: async () => {
      const startedAt = clock.now()
      const taken = keys.take(signal)
      return await clock.until(taken.then((key) => ({ key, tookMs: clock.now() - startedAt })))
    },
    takeUntil: (end: AbortSignal) => clock.until(keys.take(end)),
  }
}

describe('the stock of output keys', () => {
  it('has one ready, which is given away once, and makes the next', async () => {
    const stock = createStock()
    void stock.begin()
    await stock.clock.advance(60_000)
    expect(stock.encrypt).toHaveBeenCalledTimes(1)
    const first = await stock.take()
    expect(first.tookMs).toBe(0)
    await stock.clock.advance(60_000)
    const second = await stock.take()
    expect(second.tookMs).toBe(0)
    expect(second.key.key).not.toEqual(first.key.key)
    const { high, low, key } = first.key
    const halves = {
      high: stock.coprocessor.plain(high.ctHash),
      low: stock.coprocessor.plain(low.ctHash),
    }
    expect(joinKey(halves)).toEqual(key)
    stock.stop.abort()
  })

  it('lets a deliverer that comes early wait for the rest only, and makes another for a second', async () => {
    const stock = createStock()
    void stock.begin()
    await stock.clock.advance(7_000)
    const [first, second] = await Promise.all([stock.take(), stock.take()])
    expect([first.tookMs, second.tookMs]).toEqual([3_000, 10_000])
    expect(first.key.key).not.toEqual(second.key.key)
    stock.stop.abort()
  })

  it('tries again a minute after a failure, and a deliverer makes its own meanwhile', async () => {
    const stock = createStock()
    const away = new SvcError('coprocessor-unavailable', 'away', { hint: 'Wait.' })
    stock.encrypt.mockRejectedValueOnce(away)
    void stock.begin()
    await stock.clock.advance(1_000)
    expect(stock.log.lines).toEqual([expect.stringMatching(/WARNING No output key .*away/)])
    expect((await stock.take()).tookMs).toBe(proofMs)
    await stock.clock.advance(70_000)
    expect((await stock.take()).tookMs).toBe(0)
    stock.stop.abort()
  })

  it('makes a new one when the one in the making fails for its callers', async () => {
    const stock = createStock()
    stock.encrypt.mockImplementationOnce(async () => {
      await stock.clock.sleep(5_000)
      throw new SvcError('coprocessor-unavailable', 'away', { hint: 'Wait.' })
    })
    void stock.begin()
    await stock.clock.advance(1_000)
    expect((await stock.take()).tookMs).toBe(4_000 + proofMs)
    stock.stop.abort()
  })

  it('ends with its signals', async () => {
    const stock = createStock()
    const running = stock.begin()
    const end = new AbortController()
    const taking = stock.takeUntil(end.signal)
    end.abort(new Error('the turn is over'))
    await expect(taking).rejects.toThrow('the turn is over')
    stock.stop.abort()
    await stock.clock.until(running)
  })
})
