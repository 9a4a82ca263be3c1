import { describe, expect, it } from 'vitest'
import { sendMalformed } from './raw-http.ts'
import { runFuzz } from './run.ts'

describe('over real connections', () => {
  it('what is no proper HTTP is refused, and hides nothing', async () => {
    const outcomes = await sendMalformed()
    expect(outcomes.filter(({ wrong }) => wrong !== undefined)).toEqual([])
  }, 600_000)

  it('endpoints answer as they do without a network between', async () => {
    const result = await runFuzz({ seed: 3, requests: 80, extra: 0, overHttp: true })
    expect(result.findings).toEqual([])
    expect(result.leaks).toEqual([])
    expect(result.counts.totals().goodShare).toBeGreaterThan(0.3)
  }, 600_000)
})
