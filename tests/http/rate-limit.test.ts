import { describe, expect, it } from 'vitest'
import { callerAddress, createForwardingCheck } from '../../icl/http/peer-address.ts'
import { createRateLimiter } from '../../icl/http/rate-limit.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const rate = { requests: 3, seconds: 30 }

describe('a rate limit', () => {
  it('lets a burst through, then one for each that is made up', async () => {
    const clock = createVirtualClock()
    const { take } = createRateLimiter(clock, { wallet: rate })
    const ask = () => take('wallet', 'a')!
    expect([ask(), ask(), ask()].map(({ remaining }) => remaining)).toEqual([2, 1, 0])
    expect(ask()).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 10 })
    await clock.advance(9_999)
    expect(ask()).toMatchObject({ allowed: false, retryAfterSeconds: 1 })
    await clock.advance(1)
    expect(ask()).toMatchObject({ allowed: true, remaining: 0 })
    await clock.advance(30_000)
    expect(ask()).toMatchObject({ allowed: true, remaining: 2, resetSeconds: 10 })
  })

  it('never lets more through than the burst and what is made up, whatever the rhythm', async () => {
    const clock = createVirtualClock()
    const { take } = createRateLimiter(clock, { wallet: { requests: 7, seconds: 13 } })
    let letThrough = 0
    const totalMs = 60_000
    for (let ms = 0; ms < totalMs; ms += 37) {
      if (take('wallet', 'a')?.allowed) letThrough += 1
      await clock.advance(37)
    }
    expect(letThrough).toBeLessThanOrEqual(7 + Math.floor((totalMs * 7) / 13_000))
    expect(letThrough).toBeGreaterThanOrEqual(Math.floor((totalMs * 7) / 13_000))
  })

  it('counts callers and limits apart, and what is not named not at all', () => {
    const limiter = createRateLimiter(createVirtualClock(), { wallet: rate, node: rate })
    for (let count = 0; count < 3; count++) limiter.take('wallet', 'a')
    expect(limiter.take('wallet', 'a')?.allowed).toBe(false)
    expect(limiter.take('wallet', 'b')?.allowed).toBe(true)
    expect(limiter.take('node', 'a')?.allowed).toBe(true)
    expect(limiter.take('address', 'a')).toBeUndefined()
  })

  it('takes nothing when it is only looked at', () => {
    const limiter = createRateLimiter(createVirtualClock(), { wallet: rate })
    for (let count = 0; count < 9; count++) limiter.look('wallet', 'a')
    expect(limiter.look('wallet', 'a')).toMatchObject({ allowed: true, remaining: 3 })
  })

  it('does not heed that the time of day is set', async () => {
    const clock = createVirtualClock()
    const { take } = createRateLimiter(clock, { wallet: rate })
    for (let count = 0; count < 4; count++) take('wallet', 'a')
    clock.leap(86_400_000)
    expect(take('wallet', 'a')?.allowed).toBe(false)
    clock.leap(-2 * 86_400_000)
    await clock.advance(30_000)
    expect(take('wallet', 'a')?.allowed).toBe(true)
  })

  it('remembers a bounded number of callers, those that asked last', () => {
    const { take } = createRateLimiter(createVirtualClock(), { wallet: rate }, 100)
    const busy = () => take('wallet', 'busy')
    for (let count = 0; count < 3; count++) busy()
    for (let caller = 0; caller < 99; caller++) take('wallet', `${caller}`)
    expect(busy()?.allowed).toBe(false)
    take('wallet', 'one more')
    expect(busy()).toMatchObject({ allowed: true, remaining: 2 })
    for (let caller = 0; caller < 60; caller++) take('wallet', `${caller}`)
    expect(busy()).toMatchObject({ allowed: true, remaining: 1 })
    for (let caller = 60; caller < 120; caller++) take('wallet', `${caller}`)
    expect(busy()).toMatchObject({ allowed: true, remaining: 0 })
  })
})

describe('the address that requests count under', () => {
  it('is the subject of one warning when the header and the trusted proxies do not fit', () => {
    const warningsOf = (
      trusted: number,
      requests: [string, string | undefined, string | null][],
    ) => {
      const warnings: string[] = []
      const check = createForwardingCheck(trusted, (text) => warnings.push(text))
      for (const [path, socket, header] of requests) check(() => path, socket, header)
      return warnings
    }
    const forwarded = '203.0.113.9'
    for (const socket of ['127.0.0.1', '::ffff:10.0.0.1', 'fd00::1']) {
      const found = warningsOf(0, [
        ['/v1/network', socket, null],
        ['/livez', socket, forwarded],
        ['/v1/network', socket, forwarded],
      ])
      expect(found).toEqual([expect.stringContaining('SVC_ICL_TRUSTED_PROXIES is 0')])
    }
    // Anyone may send the header to an ICL without a proxy.
    expect(
      warningsOf(0, [
        ['/v1/network', '192.0.32.8', forwarded],
        ['/', undefined, ''],
      ]),
    ).toEqual([])
    // Probes and metrics come past the proxy.
    expect(
      warningsOf(1, [
        ['/readyz', '10.0.0.1', null],
        ['/v1/network', '10.0.0.1', forwarded],
      ]),
    ).toEqual([])
    const past = warningsOf(1, [
      ['/v1/network', '10.0.0.1', null],
      ['/v1/models', '10.0.0.1', null],
    ])
    expect(past).toEqual([expect.stringContaining('SVC_ICL_TRUSTED_PROXIES is 1')])
  })

  it('is the socket, unless proxies are trusted', () => {
    expect(callerAddress('192.0.2.1', '203.0.113.9', 0)).toBe('192.0.2.1')
    expect(callerAddress(undefined, null, 0)).toBe('unknown')
  })

  it('is what the outermost trusted proxy saw, never what the caller wrote', () => {
    const forwarded = '6.6.6.6, 203.0.113.9, 10.0.0.2'
    expect(callerAddress('10.0.0.1', forwarded, 1)).toBe('10.0.0.2')
    expect(callerAddress('10.0.0.1', forwarded, 2)).toBe('203.0.113.9')
    expect(callerAddress('10.0.0.1', '203.0.113.9', 2)).toBe('203.0.113.9')
    expect(callerAddress('10.0.0.1', null, 2)).toBe('10.0.0.1')
  })

  it('does not depend on the port that some proxies add', () => {
    for (const [forwarded, address] of [
      ['203.0.113.9:50123', '203.0.113.9'],
      ['[2001:db8:1:2::9]:50123', '2001:db8:1:2::/64'],
      ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ] as const) {
      expect(callerAddress('10.0.0.1', `6.6.6.6, ${forwarded}`, 1)).toBe(address)
    }
  })

  it('is the socket when what was forwarded is no address', () => {
    for (const forwarded of [
      '',
      ',',
      'unknown',
      '999.1.1.1',
      `${'1'.repeat(5_000)}`,
      '::1::',
      ':::',
      '1.2.3.4:x',
      '[1.2.3.4:5',
    ]) {
      expect(callerAddress('10.0.0.1', forwarded, 1)).toBe('10.0.0.1')
    }
  })

  it('of IPv6 is the network that one caller has to itself, and of a mapped IPv4 the IPv4', () => {
    expect(callerAddress('2001:db8:1:2:3:4:5:6', null, 0)).toBe('2001:db8:1:2::/64')
    expect(callerAddress('2001:DB8:1:2::9', null, 0)).toBe('2001:db8:1:2::/64')
    expect(callerAddress('fe80::1%eth0', null, 0)).toBe('fe80:0:0:0::/64')
    expect(callerAddress('::ffff:192.0.2.1', null, 0)).toBe('192.0.2.1')
    expect(callerAddress('::ffff:c000:201', null, 0)).toBe('192.0.2.1')
    expect(callerAddress('::1', null, 0)).toBe('0:0:0:0::/64')
  })
})
