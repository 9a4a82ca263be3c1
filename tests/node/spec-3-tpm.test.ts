import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Attestor, createAttestor } from '../../node/attestation/attestor.ts'
import { createSwtpmMaker, type Swtpm, type SwtpmMaker, whyNoSwtpm } from '../tools/swtpm.ts'
import { holdTime } from '../virtual-clock.ts'
import { tpmOf, trustIn } from './attestation/tpm-icl.ts'
import { prepareDaemon, type RunningDaemon, startDaemon } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// The states of a certificate (spec 3.1) where the machine attests by a software TPM (swtpm), whose time is that of this machine.

const missing = whyNoSwtpm()
const hour = 3_600
const minuteMs = 60_000

describe('the certificate of a node with a TPM', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let maker: SwtpmMaker
  let tpm: Swtpm
  let icl: RealIcl
  let running: RunningDaemon | undefined
  beforeAll(async () => {
    maker = await createSwtpmMaker()
    tpm = await maker.start()
  })
  afterAll(() => maker.stop())
  beforeEach(async () => {
    icl = await startRealIcl({ mock: false, tpm: trustIn(maker.rootsPem), startMs: Date.now() })
  })
  afterEach(async () => {
    await running?.stop()
    running = undefined
    await icl.stop()
  })

  const byTpm = (setting: string): Attestor => {
    const attestor = createAttestor('tpm', { tpm: tpmOf({ setting }) })
    return {
      backend: 'tpm',
      prove: async (request) => {
        const release = holdTime()
        try {
          return await attestor.prove(request)
        } finally {
          release()
        }
      },
    }
  }
  /** An attested node that runs, and believes in so many seconds. */
  async function start(secondsLeft: number, setting = tpm.setting) {
    const daemon = await prepareDaemon(icl, 'a')
    daemon.faults.attestor = byTpm(tpm.setting)
    await icl.clock.until(daemon.attestOnce())
    daemon.attestations.length = 0
    daemon.faults.attestor = byTpm(setting)
    const expiresAt = Math.floor(icl.clock.now() / 1000) + secondsLeft
    const deps = { ...daemon.deps, backend: 'tpm' }
    running = startDaemon(icl, { ...daemon, deps }, expiresAt)
    return running
  }
  const isEligible = async ({ address }: RunningDaemon) => {
    const { nodes } = await icl.clock.until(icl.client.getActiveNodes({ query: { min_tier: 0 } }))
    return nodes.some(({ operator_address }) => operator_address === address)
  }

  it('valid -> valid: renewed by the watchdog once it ends in under 6 h, not before', async () => {
    const node = await start(6 * hour + 15 * 60)
    await icl.clock.advance(11 * minuteMs)
    expect(node.attestations).toHaveLength(0)
    await icl.clock.advance(10 * minuteMs)
    expect(node.attestations).toHaveLength(1)
    const lines = node.lines.join('\n')
    expect(lines).toMatch(
      /\[INFO\] .*Attested with the ICL \(tpm\), certificate valid for 86\d{3} s/,
    )
    await icl.clock.advance(30 * minuteMs)
    expect(node.attestations).toHaveLength(1)
    expect(await isEligible(node)).toBe(true)
  })

  it('valid -> valid when the renewal fails: a WARNING, and the next pass tries again', async () => {
    const node = await start(5 * hour)
    node.faults.attestor = byTpm('unix:/nowhere/tpm')
    await icl.clock.advance(11 * minuteMs)
    expect(node.lines.join('\n')).toMatch(
      /\[WARNING\] .*Attestation renewal failed, certificate valid for \d+ s more: there is no TPM at unix:\/nowhere\/tpm/,
    )
    expect(await isEligible(node)).toBe(true)
    node.faults.attestor = byTpm(tpm.setting)
    await icl.clock.advance(11 * minuteMs)
    expect(node.lines.join('\n')).toMatch(/\[INFO\] .*Attested with the ICL \(tpm\)/)
  })

  it('expired -> expired when the TPM is away: a WARNING, no work; -> valid once it is back', async () => {
    const node = await start(-1, 'unix:/nowhere/tpm')
    await icl.clock.advance(minuteMs)
    expect(node.lines.join('\n')).toMatch(
      /\[WARNING\] .*Attestation failed, taking no work, next try in \d+ s: there is no TPM/,
    )
    const tries = node.attestations.length
    expect(tries).toBeGreaterThan(1)
    node.faults.attestor = byTpm(tpm.setting)
    await icl.clock.advance(11 * minuteMs)
    expect(node.lines.join('\n')).toMatch(/\[INFO\] .*Attested with the ICL \(tpm\)/)
    expect(await isEligible(node)).toBe(true)
  })
})
