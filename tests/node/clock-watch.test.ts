import { expect, it } from 'vitest'
import { watchingClock } from '../../node/clock-watch.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { recordingLog } from './fakes.ts'

it("a clock that differs from the ICL's is a warning once, and a line when it agrees again", async () => {
  const log = recordingLog()
  const clock = createVirtualClock(1_800_000_000_000)
  let iclMs: number | undefined = 1_800_000_000_000
  let tookMs = 0
  const ask = watchingClock(
    async () => {
      await clock.advance(tookMs)
      return new Response(null, iclMs === undefined ? {} : { headers: { date: dateOf(iclMs) } })
    },
    clock,
    log,
  )
  const request = () => new Request('http://icl.example')
  const askAt = async (ms: number | undefined) => {
    iclMs = ms === undefined ? undefined : clock.now() + ms
    await ask(request())
  }
  for (const ms of [0, 29_000, undefined]) await askAt(ms)
  // A response that took long says little.
  tookMs = 20_000
  await askAt(-18_000)
  tookMs = 0
  expect(log.lines).toEqual([])
  for (const ms of [-600_000, -600_000, undefined, 0]) await askAt(ms)
  await askAt(90_000)
  expect(log.lines).toEqual([
    expect.stringMatching(
      /^WARNING The clock of this machine is 600 s ahead of the ICL's\. Set the/,
    ),
    "INFO The clock of this machine agrees with the ICL's again",
    expect.stringMatching(/^WARNING The clock of this machine is 9[01] s behind the ICL's\./),
  ])
})

const dateOf = (ms: number): string => new Date(ms).toUTCString()
