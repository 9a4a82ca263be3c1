import { describe, expect, it } from 'vitest'
import { createClockWatch } from '../../../icl/chain/clock-watch.ts'
import { createSteadyClock } from '../../../icl/start/steady-clock.ts'
import { aHash } from '../../branded.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { createFakeChain } from '../fake-chain.ts'
import { createTestIcl } from '../test-icl.ts'

const hoursMs = 2 * 3_600_000
const second = (ms: number) => Math.floor(ms / 1000)

/** A watch whose chain has made a block every 2 s by the true time, which is `lateMs` ahead of the machine's clock. */
async function watchOver(lateMs: number) {
  const machine = createVirtualClock()
  const clock = createSteadyClock(machine)
  const chain = createFakeChain()
  const lines: string[] = []
  const note = (message: string) => void lines.push(message)
  const log = { debug: note, info: note, warn: note, error: note }
  const truth = () => machine.now() + lateMs
  chain.latestBlock = async () => ({
    number: BigInt(Math.floor(truth() / 2_000)),
    hash: aHash(`0x${'b'.repeat(64)}`),
    timestamp: second(truth()),
  })
  const watch = createClockWatch({ clock, chain, log, aheadMs: clock.aheadMs })
  const stop = new AbortController()
  void watch.keep(stop.signal)
  await machine.advance(30_000)
  return { machine, chain, watch, lines, stop: () => stop.abort() }
}

describe('the watch over the clock', () => {
  it('names both times and the remedy when the clock is behind', async () => {
    const { watch, lines, stop } = await watchOver(hoursMs)
    expect(watch.faults()).toEqual([
      expect.stringMatching(
        /^the machine's clock is behind: it shows 2027-01-15T08:00:.*Z, and the latest block is of 2027-01-15T10:00:.*Z; correct the machine's clock \(NTP\)$/,
      ),
    ])
    expect(lines.filter((line) => line.includes('is behind'))).toHaveLength(1)
    stop()
  })

  it('and when it is ahead, and says when it is right again', async () => {
    const { machine, watch, lines, chain, stop } = await watchOver(-hoursMs)
    expect(watch.faults().join()).toContain("the machine's clock is ahead")
    // Blocks that rest say nothing new.
    const old = await chain.latestBlock()
    chain.latestBlock = async () => old
    await machine.advance(30_000)
    expect(watch.faults()).toHaveLength(1)
    chain.latestBlock = async () => ({
      ...old,
      number: old.number + 1n,
      timestamp: second(machine.now()),
    })
    await machine.advance(10_000)
    expect(watch.faults()).toEqual([])
    expect(lines.at(-1)).toBe("The machine's clock is right again")
    stop()
  })

  it.each([0, 119_000, -119_000])('is content with a clock that is %i ms off', async (lateMs) => {
    const { watch, stop } = await watchOver(lateMs)
    expect(watch.faults()).toEqual([])
    stop()
  })

  it('takes a chain that rests for no sign, nor one that is away', async () => {
    const { machine, chain, watch, stop } = await watchOver(0)
    const old = await chain.latestBlock()
    chain.latestBlock = async () => old
    await machine.advance(hoursMs)
    expect(watch.faults()).toEqual([])
    chain.latestBlock = async () => Promise.reject(new Error('away'))
    await machine.advance(30_000)
    expect(watch.faults()).toEqual([])
    stop()
  })

  it('tells of a step that the ICL follows slowly', async () => {
    const { machine, watch, lines, stop } = await watchOver(0)
    machine.leap(-100_000)
    await machine.advance(10_000)
    expect(watch.faults().join()).toContain("the machine's clock was set 100 s back")
    expect(lines.join()).toContain('100 s back')
    stop()
  })

  it('is heard in /readyz', async () => {
    const icl = await createTestIcl()
    icl.chain.block = { number: 8n, timestamp: second(icl.clock.now() + hoursMs) }
    await icl.clock.advance(10_000)
    const { ready, reasons } = await icl.api().getReadiness()
    expect([ready, reasons.join()]).toEqual([true, expect.stringContaining('NTP')])
    await icl.stop()
  })
})
