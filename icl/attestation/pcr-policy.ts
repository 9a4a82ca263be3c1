import { z } from 'zod'
import { ModelTier } from '../../lib/codecs.ts'
import { equalBytes, fromBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import { tpmAlgorithm, tpmHashOf } from '../../lib/tpm/algorithms.ts'
import {
  type BootEvent,
  isMeasured,
  parseEventLog,
  replayEventLog,
} from '../../lib/tpm/event-log.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import { asEvidence } from './malformed.ts'
import { isSecureBoot } from './secure-boot.ts'
import type { PcrValues } from './verify-quote.ts'

const bank = tpmAlgorithm.sha256
const defaultPcrs = [0, 1, 2, 3, 4, 5, 6, 7]
const secureBootPcr = 7

const PcrIndex = z.int().min(0).max(23)
const Digest = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
  .toLowerCase()
const DigestsOfPcr = z.record(
  z.string().regex(/^(\d|1\d|2[0-3])$/, 'must be a PCR from 0 to 23'),
  z.array(Digest).min(1).max(1_000),
)

/** The operator's policy file: the registers to quote, and what may have been measured into them. */
export const PcrPolicy = z
  .strictObject({
    pcrs: z
      .array(PcrIndex)
      .min(1)
      .max(24)
      .refine((pcrs) => new Set(pcrs).size === pcrs.length, 'names a PCR twice')
      .default(defaultPcrs),
    /** The values that a register may have. */
    values: DigestsOfPcr.default({}),
    /** True when the node has to send the boot's event log, and the log has to lead to the quoted registers. */
    event_log: z.boolean().default(false),
    /** Rules for the event log; only with `event_log`. */
    events: z
      .strictObject({
        /** The only measurements that a register may have. */
        allowed: DigestsOfPcr.default({}),
        /** Measurements that are refused in every register. */
        refused: z.array(Digest).max(10_000).default([]),
        /** True when UEFI secure boot has to have been on. */
        secure_boot: z.boolean().default(false),
      })
      .optional(),
    /** The highest tier that nodes under this policy may serve. */
    tier: ModelTier.optional(),
  })
  .refine(({ event_log, events }) => events === undefined || event_log, {
    message: 'has rules for events, but event_log is not true',
  })
  .refine(({ pcrs, values, events }) => {
    const named = [...Object.keys(values), ...Object.keys(events?.allowed ?? {})].map(Number)
    if (events?.secure_boot) named.push(secureBootPcr)
    return named.every((pcr) => pcrs.includes(pcr))
  }, 'has a rule for a PCR that is not among pcrs')
export type PcrPolicy = z.output<typeof PcrPolicy>

/** Checks quoted register values against the policy. Throws ProblemError `event-log-wrong` or `pcr-policy-refused`. */
export async function checkPcrPolicy(
  policy: PcrPolicy,
  pcrs: PcrValues,
  eventLog: string | undefined,
): Promise<void> {
  const events = policy.event_log ? await readEvents(pcrs, eventLog) : []
  for (const [pcr, allowed] of Object.entries(policy.values)) {
    const value = pcrs.get(Number(pcr))
    if (!value || !allowed.includes(toHex(value))) throw refused(`PCR ${pcr} has another value`)
  }
  if (policy.events) await checkEvents(policy.events, events)
}

async function readEvents(
  pcrs: PcrValues,
  eventLog: string | undefined,
): Promise<readonly BootEvent[]> {
  if (eventLog === undefined) {
    throw new ProblemError('event-log-wrong', 'This ICL asks for the event log of the boot')
  }
  const events = asEvidence(() => parseEventLog(fromBase64Url(eventLog), bank))
  const replayed = await replayEventLog(events, bank)
  for (const [pcr, value] of pcrs) {
    const expected = replayed.get(pcr) ?? firstValueOf(pcr)
    if (equalBytes(expected, value)) continue
    throw new ProblemError('event-log-wrong', `The event log does not lead to PCR ${pcr} as quoted`)
  }
  return events.filter((event) => isMeasured(event) && pcrs.has(event.pcr))
}

/** The value of a register at the start of a machine. Those of a later, measured launch (17 to 22) have all bits set until there is one. */
const firstValueOf = (pcr: number): Uint8Array =>
  new Uint8Array(tpmHashOf(bank).bytes).fill(pcr >= 17 && pcr <= 22 ? 0xff : 0)

async function checkEvents(
  rules: NonNullable<PcrPolicy['events']>,
  events: readonly BootEvent[],
): Promise<void> {
  const refusedDigests = new Set(rules.refused)
  const allowed = new Map(
    Object.entries(rules.allowed).map(([pcr, digests]) => [Number(pcr), new Set(digests)]),
  )
  for (const { pcr, digest } of events) {
    const hex = toHex(digest)
    if (refusedDigests.has(hex)) throw refused(`PCR ${pcr} has a measurement that is refused`)
    if (allowed.get(pcr)?.has(hex) === false) {
      throw refused(`PCR ${pcr} has a measurement that is not allowed: ${hex}`)
    }
  }
  if (rules.secure_boot && !(await isSecureBoot(events))) throw refused('Secure boot was not on')
}

const refused = (why: string): ProblemError => new ProblemError('pcr-policy-refused', why)
