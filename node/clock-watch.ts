import { z } from 'zod'
import { type Clock, elapsedSince } from '../lib/clock.ts'
import type { Fetch } from '../lib/outgoing.ts'
import type { Log } from './log.ts'

// The ICL accepts signed requests for 60 s.
const tolerableMs = 30_000

/** What to do about a clock that is wrong. */
export const clockRemedy =
  'Set the clock of this machine, for example with NTP (timedatectl set-ntp true).'

/** Compares this machine's clock with the Date header of a response that has just arrived. Undefined without the header. */
export function compareClock(
  { headers }: Pick<Response, 'headers'>,
  clock: Clock,
  roundTripMs: number,
): { readonly isRight: boolean; readonly text: string } | undefined {
  const date = z.coerce.date().safeParse(headers.get('date') ?? '')
  if (!date.success) return undefined
  // The header has a resolution of one second.
  const aheadMs = clock.now() - roundTripMs / 2 - (date.data.getTime() + 500)
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  const side = aheadMs > 0 ? 'ahead of' : 'behind'
  return {
    isRight: Math.abs(aheadMs) - roundTripMs / 2 <= tolerableMs,
    text: seconds <= 1 ? "agrees with the ICL's" : `${seconds} s ${side} the ICL's`,
  }
}

/** Warns once when this machine's clock differs from the ICL's. Signatures adapt, but the times in the log are wrong. */
export function watchingClock(
  fetch: Fetch,
  clock: Clock,
  log: Pick<Log, 'info' | 'warning'>,
): Fetch {
  let wasRight = true
  return async (request) => {
    const sentAt = clock.monotonic()
    const response = await fetch(request)
    const { isRight = wasRight, text } =
      compareClock(response, clock, elapsedSince(clock, sentAt)) ?? {}
    if (isRight !== wasRight) {
      if (isRight) log.info("The clock of this machine agrees with the ICL's again")
      else log.warning(`The clock of this machine is ${text}. ${clockRemedy}`)
    }
    wasRight = isRight
    return response
  }
}
