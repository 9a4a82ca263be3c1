import { retryAfterMsOf } from '../../lib/retry-after.ts'
import type { ProviderReport } from './provider-report.ts'

type Asked = Pick<ProviderReport, 'status' | 'headers' | 'retryDelay' | 'words' | 'code'>

/** Returns the milliseconds that a provider asks to wait, by a header or in the body; undefined without. */
export function askedWaitMsOf(report: Asked, nowMs: number): number | undefined {
  const { headers, retryDelay, words } = report
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(ms) && ms > 0) return ms
  const asked = retryAfterMsOf(headers, nowMs) ?? durationMsOf(retryDelay)
  if (asked !== undefined || report.code !== 'provider-rate-limited') return asked
  return (
    resetMsOf(headers, nowMs) ?? durationMsOf(/try again in ([\d.]+[\dhms.]*)/i.exec(words)?.[1])
  )
}

const reset = 'x-ratelimit-reset'

/** Returns when the limit that is used up has room again. A provider may have several: without a count, the first to end. */
function resetMsOf(headers: Headers | undefined, nowMs: number): number | undefined {
  const resets = [...(headers ?? [])].flatMap(([name, value]) => {
    const ms = name.startsWith(reset) ? momentMsOf(value, nowMs) : undefined
    const left = headers?.get(`x-ratelimit-remaining${name.slice(reset.length)}`)
    return ms === undefined ? [] : [{ ms, isUsedUp: left?.trim() === '0' }]
  })
  const usedUp = resets.filter(({ isUsedUp }) => isUsedUp).map(({ ms }) => ms)
  if (usedUp.length > 0) return Math.max(...usedUp)
  return resets.length > 0 ? Math.min(...resets.map(({ ms }) => ms)) : undefined
}

/** Some give the seconds left, some the moment, in seconds or milliseconds since 1970. */
function momentMsOf(value: string, nowMs: number): number | undefined {
  const number = Number(value)
  if (Number.isNaN(number) || number < 1e9) return durationMsOf(value)
  return positive((number < 1e12 ? number * 1000 : number) - nowMs)
}

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const

/** Returns the milliseconds of `6m0s`, `1.5s`, `250ms` or of seconds alone. */
function durationMsOf(text: string | undefined): number | undefined {
  const written = text?.trim().replace(/\.$/, '') ?? ''
  if (/^\d{1,9}(\.\d{1,9})?$/.test(written)) return positive(Number(written) * 1000)
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|[dhms]))+$/.test(written)) return undefined
  const parts = [...written.matchAll(/([\d.]+)(ms|[dhms])/g)]
  return positive(parts.reduce((sum, [, n, unit]) => sum + Number(n) * unitMs[unit as 'ms'], 0))
}

const positive = (ms: number): number | undefined => (ms > 0 ? ms : undefined)
