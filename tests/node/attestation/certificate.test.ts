import { describe, expect, it, vi } from 'vitest'
import { createCertificate } from '../../../node/attestation/certificate.ts'
import { watchCertificate } from '../../../node/loops/watchdog.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { countingRandom, recordingLog } from '../fakes.ts'

const hour = 3_600

function world(secondsLeft: number) {
  const clock = createVirtualClock()
  const now = () => Math.floor(clock.now() / 1000)
  const log = recordingLog()
  const ended = new AbortController()
  const attest = vi.fn(async (_signal: AbortSignal) => now() + 24 * hour)
  const certificate = createCertificate({
    expiresAt: now() + secondsLeft,
    backend: 'mock',
    attest,
    clock,
    random: countingRandom(),
    log,
    signal: ended.signal,
  })
  return { clock, log, attest, certificate, ended }
}

describe('the watchdog', () => {
  it('lets a certificate be that has 6 h left', async () => {
    const { attest, certificate } = world(6 * hour)
    await watchCertificate(certificate)
    expect(attest).not.toHaveBeenCalled()
  })

  it('renews one that expires within 6 h', async () => {
    const { attest, certificate, log } = world(6 * hour - 1)
    await watchCertificate(certificate)
    expect(attest).toHaveBeenCalledTimes(1)
    expect(certificate.secondsLeft()).toBe(24 * hour)
    expect(log.lines.at(-1)).toBe(
      'INFO Attested with the ICL (mock), certificate valid for 86400 s',
    )
  })

  it('warns when a renewal fails, and the certificate stays good until it expires', async () => {
    const { attest, certificate, log, clock } = world(hour)
    attest.mockRejectedValue(new Error('no ICL'))
    await watchCertificate(certificate)
    expect(certificate.secondsLeft()).toBe(hour)
    expect(log.lines.at(-1)).toMatch(/^WARNING Attestation renewal failed/)
    await clock.advance(hour * 1000)
    expect(certificate.secondsLeft()).toBe(0)
    expect(log.lines.filter((line) => line.startsWith('ERROR'))).toEqual([])
  })
})

describe('a certificate that the ICL does not accept', () => {
  it('is worth nothing until the node has attested again', async () => {
    const { attest, certificate } = world(20 * hour)
    attest.mockRejectedValue(new Error('no ICL'))
    await expect(certificate.recover('not attested')).rejects.toThrow('no ICL')
    expect(certificate.secondsLeft()).toBe(0)
  })

  it('is tried again in the background with growing waits, and not by every caller', async () => {
    const { attest, certificate, clock, log, ended } = world(20 * hour)
    attest.mockRejectedValue(new Error('no ICL'))
    await certificate.recover('not attested').catch(() => {})
    for (let call = 0; call < 10; call++) await certificate.recover('again').catch(() => {})
    expect(attest).toHaveBeenCalledTimes(1)
    await clock.advance(60_000)
    const afterMinute = attest.mock.calls.length
    expect(afterMinute).toBeGreaterThanOrEqual(4)
    expect(afterMinute).toBeLessThanOrEqual(6)
    await clock.advance(3_600_000)
    expect(attest.mock.calls.length - afterMinute).toBeLessThanOrEqual(18)
    expect(log.lines.at(-1)).toMatch(/^WARNING Attestation failed, taking no work/)
    ended.abort()
    const atEnd = attest.mock.calls.length
    await clock.advance(3_600_000)
    expect(attest).toHaveBeenCalledTimes(atEnd)
  })

  it('is tried again with growing waits when the new one has expired already', async () => {
    const { attest, certificate, clock, log } = world(20 * hour)
    attest.mockRejectedValueOnce(new Error('no ICL'))
    attest.mockImplementation(async () => Math.floor(clock.now() / 1000) - 1)
    await certificate.recover('not attested').catch(() => {})
    await clock.advance(60_000)
    expect(attest.mock.calls.length).toBeLessThanOrEqual(6)
    expect(certificate.secondsLeft()).toBe(0)
    expect(certificate.generation()).toBe(0)
    expect(log.lines.at(-1)).toMatch(/WARNING Attestation failed.*has expired already/)
  })

  it('is tried again within 10 min when the clock is set back meanwhile', async () => {
    const clock = createVirtualClock()
    let setBackMs = 0
    const shifted = { ...clock, now: () => clock.now() - setBackMs }
    const attest = vi.fn(async (_signal: AbortSignal) => Math.floor(shifted.now() / 1000) + hour)
    const certificate = createCertificate({
      expiresAt: Math.floor(clock.now() / 1000) + hour,
      backend: 'mock',
      attest,
      clock: shifted,
      random: countingRandom(),
      log: recordingLog(),
      signal: new AbortController().signal,
    })
    // An ICL that refuses what it has just given makes the node rest.
    await certificate.recover('refused')
    await certificate.recover('refused again')
    setBackMs = 24 * hour * 1000
    await expect(certificate.recover('and again')).rejects.toThrow('still not attested')
    await clock.advance(11 * 60_000)
    expect(certificate.secondsLeft()).toBeGreaterThan(0)
  })

  it('comes back, and says so', async () => {
    const { attest, certificate, clock } = world(20 * hour)
    const renewed = vi.fn()
    certificate.onRenewed(renewed)
    attest.mockRejectedValueOnce(new Error('no ICL'))
    await certificate.recover('not attested').catch(() => {})
    await clock.advance(5_000)
    expect(certificate.secondsLeft()).toBeGreaterThan(23 * hour)
    expect(renewed).toHaveBeenCalledTimes(1)
  })

  it('is an ERROR once each time that the node loses it, and a WARNING at each failed try', async () => {
    const { attest, certificate, clock, log } = world(20 * hour)
    const levels = () =>
      log.lines.filter((line) => /failed/.test(line)).map((line) => line.split(' ')[0])
    for (let loss = 1; loss <= 2; loss++) {
      attest.mockRejectedValueOnce(new Error('no ICL')).mockRejectedValueOnce(new Error('no ICL'))
      await certificate.recover('not attested').catch(() => {})
      await clock.advance(60_000)
      expect(certificate.secondsLeft()).toBeGreaterThan(0)
      expect(levels()).toEqual(
        Array.from({ length: loss }, () => ['ERROR', 'WARNING', 'WARNING']).flat(),
      )
      await clock.advance(hour * 1000)
    }
  })

  it('is renewed once for callers at the same time', async () => {
    const { attest, certificate } = world(20 * hour)
    await Promise.all([certificate.recover('a'), certificate.recover('b'), certificate.renew('c')])
    expect(attest).toHaveBeenCalledTimes(1)
  })

  it('is not attested for at every call by an ICL that gives certificates and refuses them', async () => {
    const { attest, certificate, clock } = world(20 * hour)
    for (let call = 0; call < 600; call++) {
      await certificate.recover('not accepted').catch(() => {})
      await clock.advance(1_000)
    }
    expect(attest.mock.calls.length).toBeGreaterThanOrEqual(4)
    expect(attest.mock.calls.length).toBeLessThanOrEqual(12)
  })
})
