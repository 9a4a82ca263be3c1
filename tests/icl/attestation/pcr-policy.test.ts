import { describe, expect, it } from 'vitest'
import { checkPcrPolicy, PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import { concatBytes, fromBase64Url, sha256, utf8 } from '../../../lib/digest.ts'
import { parseEventLog, replayEventLog } from '../../../lib/tpm/event-log.ts'
import { toHex } from '../../../lib/tpm/hex.ts'
import { codeOf } from '../../code-of.ts'
import {
  type Measurement,
  sampleBoot,
  sampleEventLog,
  secureBootVariable,
  separator,
  variableEvent,
} from './sample-event-log.ts'

const digestOf = async (text: string) => toHex(await sha256(utf8(text)))

/** What a policy makes of a boot. */
async function check(rules: object, boot: readonly Measurement[] = sampleBoot) {
  const { log, pcrs } = await sampleEventLog(boot)
  const policy = PcrPolicy.parse({ pcrs: [0, 4, 7], ...rules })
  return codeOf(checkPcrPolicy(policy, pcrs, policy.event_log ? log : undefined))
}

const withSecureBoot = (...measurements: readonly Partial<Measurement>[]) => [
  ...sampleBoot.filter(({ pcr }) => pcr !== 7),
  ...measurements.map((one) => ({
    pcr: 7,
    type: variableEvent,
    data: secureBootVariable(1),
    ...one,
  })),
]

it('values have to be among the allowed ones', async () => {
  const { pcrs } = await sampleEventLog()
  const now = toHex(pcrs.get(4)!)
  expect(await check({ values: { '4': ['00'.repeat(32), now.toUpperCase()] } })).toBe(undefined)
  expect(await check({ values: { '4': ['00'.repeat(32)] } })).toBe('pcr-policy-refused')
})

describe('an event log', () => {
  it('leads to the quoted registers, from the locality that started the TPM', async () => {
    expect(await check({ event_log: true })).toBe(undefined)
    const { pcrs } = await sampleEventLog(sampleBoot, 3)
    const { log } = await sampleEventLog(sampleBoot, 0)
    const policy = PcrPolicy.parse({ pcrs: [0], event_log: true })
    expect(await codeOf(checkPcrPolicy(policy, new Map([[0, pcrs.get(0)!]]), log))).toBe(
      'event-log-wrong',
    )
    const events = parseEventLog(fromBase64Url(log), 0x0b)
    expect(toHex((await replayEventLog(events, 0x0b)).get(7)!)).toBe(toHex(pcrs.get(7)!))
  })

  it('begins PCR 0 once: what is noted later takes nothing back', async () => {
    const start = concatBytes(utf8('StartupLocality\0'), Uint8Array.of(3))
    const note = { pcr: 0, type: 3, data: start }
    const { log } = await sampleEventLog([...sampleBoot, note, ...sampleBoot])
    const { pcrs } = await sampleEventLog()
    const policy = PcrPolicy.parse({ pcrs: [0], event_log: true })
    expect(await codeOf(checkPcrPolicy(policy, new Map([[0, pcrs.get(0)!]]), log))).toBe(
      'event-log-wrong',
    )
  })

  it('explains every register that is asked for, those without events as at the start of the machine', async () => {
    const { log } = await sampleEventLog()
    const policy = PcrPolicy.parse({ pcrs: [5], event_log: true })
    const check = (value: number, pcr = 5) =>
      codeOf(checkPcrPolicy(policy, new Map([[pcr, new Uint8Array(32).fill(value)]]), log))
    expect(await check(0)).toBe(undefined)
    expect(await check(1)).toBe('event-log-wrong')
    for (const pcr of [17, 22]) {
      expect([await check(0xff, pcr), await check(0, pcr)]).toEqual([undefined, 'event-log-wrong'])
    }
    expect(await check(0, 23)).toBe(undefined)
  })

  it('has no measurement that is refused, or not allowed', async () => {
    const loader = await digestOf('boot loader')
    const rules = (events: object) => ({ event_log: true, events })
    expect(await check(rules({ allowed: { '4': [loader] } }))).toBe(undefined)
    expect(await check(rules({ allowed: { '4': [await digestOf('other')] } }))).toBe(
      'pcr-policy-refused',
    )
    expect(await check(rules({ refused: [loader] }))).toBe('pcr-policy-refused')
  })

  it.each<readonly [string, readonly Partial<Measurement>[], string | undefined]>([
    ['on', [{}], undefined],
    ['off', [{ data: secureBootVariable(0) }], 'pcr-policy-refused'],
    ['not measured', [], 'pcr-policy-refused'],
    ['on, and off', [{}, { data: secureBootVariable(0) }], 'pcr-policy-refused'],
    ['on only in what was not measured', [{ digest: new Uint8Array(32) }], 'pcr-policy-refused'],
    ['on in another register', [{ pcr: 4 }], 'pcr-policy-refused'],
  ])('says whether secure boot was on: %s', async (_, measurements, code) => {
    const boot = [...withSecureBoot(...measurements), separator]
    expect(await check({ event_log: true, events: { secure_boot: true } }, boot)).toBe(code)
  })

  // What was started by then can extend the register, and the log's words are as free as its digests are not.
  const off = secureBootVariable(0)
  it.each<readonly [string, readonly Partial<Measurement>[]]>([
    ['by another word after it', [{ data: off }, separator, {}]],
    ['when the first word shows other data', [{ data: utf8('other') }, separator, {}]],
    ['when the first word has another kind', [{ data: off, type: 1 }, separator, {}]],
    ['when another end is shown', [{ data: utf8('other') }, {}, { ...separator, type: 1 }]],
    ['when nothing ends the words of firmware', [{ data: utf8('other') }, {}]],
  ])('does not take secure boot that was off for on, %s', async (_, [first, ...rest]) => {
    const boot = withSecureBoot({ ...first, digest: await sha256(off) }, ...rest)
    const rules = { event_log: true, events: { secure_boot: true } }
    expect(await check(rules, boot)).toBe('pcr-policy-refused')
  })
})

describe('a policy file', () => {
  it.each([
    [{ pcrs: [0, 0] }],
    [{ pcrs: [24] }],
    [{ pcrs: [] }],
    [{ values: { '9': ['00'.repeat(32)] } }],
    [{ values: { '4': ['00'] } }],
    [{ values: { '04': ['00'.repeat(32)] } }],
    [{ events: { secure_boot: true } }],
    [{ pcrs: [4], event_log: true, events: { secure_boot: true } }],
    [{ unknown: true }],
    [{ tier: 256 }],
  ])('that cannot be meant is refused: %j', (file) => {
    expect(PcrPolicy.safeParse(file).success).toBe(false)
  })

  it('without a word quotes PCRs 0 to 7 and refuses none', () => {
    expect(PcrPolicy.parse({})).toMatchObject({ pcrs: [0, 1, 2, 3, 4, 5, 6, 7], values: {} })
  })
})
