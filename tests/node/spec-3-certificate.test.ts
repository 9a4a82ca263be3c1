import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deriveKeys } from '../../icl/records/icl-keys.ts'
import { exitCodeOf } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import { prepareDaemon, type RunningDaemon, startDaemon, startDaemons } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// The table of spec 3.1, row by row, with our reading of its two "missing" rows; real daemons, the real ICL.

const hour = 3_600

let icl: RealIcl
let daemons: RunningDaemon[] = []
beforeEach(async () => {
  icl = await startRealIcl()
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop()
  daemons = []
  await icl.stop()
})

const now = () => Math.floor(icl.clock.now() / 1000)
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => error,
  )

/** Starts a node that believes in a certificate of so many seconds; one that the ICL knows has 24 h. */
async function startWith(
  secondsLeft: number,
  { attested = true, mockKey = undefined as string | undefined } = {},
) {
  const daemon = await prepareDaemon(icl, 'a')
  if (attested) await icl.clock.until(daemon.attestOnce())
  daemon.attestations.length = 0
  daemon.faults.mockKey = mockKey
  const running = startDaemon(icl, daemon, now() + secondsLeft)
  daemons.push(running)
  return running
}
const eligible = async () => {
  const { nodes } = await icl.clock.until(icl.client.getActiveNodes({ query: { min_tier: 0 } }))
  return nodes.map(({ operator_address }) => operator_address)
}

describe('expired or missing | daemon startup check -> valid, re-attests automatically', () => {
  it('when the record shows that it has expired', async () => {
    const { attestations, lines, address } = await startWith(-1)
    await icl.clock.advance(1_000)
    expect(attestations).toHaveLength(1)
    expect(lines.join('\n')).toMatch(/\[INFO\] .*Attested with the ICL \(mock\), certificate valid/)
    expect(await eligible()).toEqual([address])
  })

  it('when the ICL does not know it: once for all callers at the same time', async () => {
    const { attestations, address, lines } = await startWith(20 * hour, { attested: false })
    await icl.clock.advance(1_000)
    expect(attestations).toHaveLength(1)
    expect(lines.join('\n')).toMatch(/Attesting with the ICL: .*knows no attestation/)
    expect(await eligible()).toEqual([address])
  })

  it('when the ICL has another secret, and so another key for its requests', async () => {
    const { attestations, faults, lines } = await startWith(20 * hour)
    const inputs: string[] = []
    faults.icl = ({ headers }) => {
      inputs.push(headers.get('signature-input') ?? '')
      return undefined
    }
    await icl.clock.advance(30_000)
    expect(inputs.length).toBeGreaterThan(1)
    for (const input of inputs) expect(input).toMatch(/^node=.*;alg="hmac-sha256"$/)
    Object.assign(icl.deps.keys, await deriveKeys(new Uint8Array(32).fill(9)))
    await icl.clock.advance(60_000)
    expect(attestations).toHaveLength(1)
    expect(lines.join('\n')).toMatch(/Attesting with the ICL: The MAC is not by the request key/)
    expect(lines.at(-1)).toMatch(/Heartbeat|No assignments/)
  })
})

describe('valid | watchdog (every 10 min), expiry under 6 h -> valid (renewed)', () => {
  it('renews at the first pass below 6 h, with the same session key', async () => {
    const { attestations, lines, deps } = await startWith(6 * hour + 5 * 60)
    await icl.clock.advance(9 * 60_000)
    expect(attestations).toHaveLength(0)
    await icl.clock.advance(2 * 60_000)
    expect(attestations).toHaveLength(1)
    expect(lines.join('\n')).toMatch(
      /\[INFO\] .*Attesting with the ICL: the certificate expires in \d+ s/,
    )
    expect(lines.at(-1)).not.toMatch(/superseded/)
    // The ICL still takes what the same key signs.
    const task = deps.api.postHeartbeat({
      body: {
        operator_address: deps.address,
        timestamp: now() + 1,
        version: '1',
        free_slots: 1,
        supported_model_ids: [],
      },
    })
    expect((await icl.clock.until(task)).certificate_expires_at).toBeGreaterThan(now() + 23 * hour)
  })
})

describe('expired | watchdog or startup, re-attest fails -> expired, warning logged', () => {
  it('stays up, takes no work, keeps trying, and takes work again once it has succeeded', async () => {
    const others = await startDaemons(icl, ['b', 'c'])
    daemons.push(...others)
    const wrong = { mockKey: '00'.repeat(16) }
    const { faults, attestations, lines, address } = await startWith(-1, wrong)
    await icl.clock.advance(11 * 60_000)
    expect(attestations.length).toBeGreaterThanOrEqual(4)
    const failed = lines.filter((line) => line.includes('Attestation failed'))
    expect(failed[0]).toMatch(/\[ERROR\] .*taking no work until it succeeds: .*HMAC/)
    for (const line of failed.slice(1))
      expect(line).toMatch(/\[WARNING\] .*next try in \d+ s: .*HMAC/)
    expect(failed.length).toBeGreaterThan(1)
    expect(lines.join('\n')).not.toMatch(/Heartbeat sent to ICL/)
    expect(await eligible()).not.toContain(address)
    faults.mockKey = undefined
    // expired | re-attest succeeds -> valid
    await icl.clock.advance(11 * 60_000)
    expect(lines.join('\n')).toMatch(/Attested with the ICL/)
    expect(await eligible()).toContain(address)
    const job = await icl.ask('Two and two?')
    await icl.clock.advance(10_000)
    expect((await icl.clock.until(job.view())).status).toBe('accepted')
    expect(lines.join('\n')).toMatch(/Leader result accepted|Verdict: match/)
  })
})

describe('expired | the ICL is away for an hour -> valid within a minute of its return', () => {
  const noDatabase = new ProblemError('unavailable', 'The database is away').toProblem()
  const headers = { 'content-type': 'application/problem+json' }
  it.each([
    ['cannot be reached', async () => Promise.reject(new Error('connection refused'))],
    ['has no database', async () => Response.json(noDatabase, { status: 503, headers })],
  ] as const)('when it %s', async (_, answer) => {
    const { faults, address } = await startWith(-1)
    faults.icl = answer
    // Between two passes of the watchdog.
    await icl.clock.advance(62 * 60_000)
    faults.icl = undefined
    await icl.clock.advance(60_000)
    expect(await eligible()).toContain(address)
  })
})

describe('run-superseded', () => {
  it('ends the daemon of the older run with exit 1, without another attestation', async () => {
    const { running, attestations, lines } = await startWith(20 * hour)
    await icl.clock.advance(1_000)
    await icl.clock.until(joinElsewhere())
    const error = await icl.clock.until(errorOf(running))
    expect(error).toMatchObject({ code: 'run-superseded' })
    expect(exitCodeOf(error)).toBe(1)
    expect(attestations).toHaveLength(0)
    expect(lines.at(-1)).toMatch(/\[ERROR\] .*Daemon ended: .*One wallet runs one daemon/)
    daemons = []
  })
})

/** Attests with the same wallet, as a second machine would. */
async function joinElsewhere(): Promise<void> {
  const twin = await prepareDaemon(icl, 'a')
  await twin.attestOnce()
}
