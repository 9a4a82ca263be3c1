import { describe, expect, it } from 'vitest'
import { concatBytes, utf8 } from '../../../lib/digest.ts'
import { tpmAlgorithm, tpmDigest } from '../../../lib/tpm/algorithms.ts'
import { TpmFormatError } from '../../../lib/tpm/bytes.ts'
import {
  type BootEvent,
  isMeasured,
  maxEventLogBytes,
  parseEventLog,
  replayEventLog,
} from '../../../lib/tpm/event-log.ts'
import { toHex } from '../../../lib/tpm/hex.ts'

type Bytes = Uint8Array<ArrayBuffer>
const { sha1, sha256, sha384 } = tpmAlgorithm

const number = (bytes: number) => (value: number) => {
  const part = new Uint8Array(bytes)
  for (let index = 0; index < bytes; index++) part[index] = (value / 256 ** index) & 0xff
  return part
}
// Firmware writes little-endian.
const [u16, u32] = [number(2), number(4)]

const lengths: readonly (readonly [number, number])[] = [
  [sha1, 20],
  [sha256, 32],
]

/** The first event: which digests there are, and how long each is. */
function headerOf(declared = lengths, signature = 'Spec ID Event03', count = declared.length) {
  const data = concatBytes(
    utf8(`${signature}\0`),
    new Uint8Array(8),
    u32(count),
    ...declared.map(([algorithm, length]) => concatBytes(u16(algorithm), u16(length))),
    Uint8Array.of(0),
  )
  return concatBytes(u32(0), u32(3), new Uint8Array(20), u32(data.length), data)
}

type Digests = readonly (readonly [number, Bytes])[]
const filled = (length: number, byte: number) => new Uint8Array(length).fill(byte)
const bothDigests: Digests = [
  [sha1, filled(20, 1)],
  [sha256, filled(32, 2)],
]

const eventOf = (
  pcr: number,
  type: number,
  digests: Digests = bothDigests,
  data: Uint8Array = utf8('data'),
) =>
  concatBytes(
    ...[u32(pcr), u32(type), u32(digests.length)],
    ...digests.map(([algorithm, digest]) => concatBytes(u16(algorithm), digest)),
    u32(data.length),
    data,
  )

const logOf = (...events: readonly Uint8Array[]) => concatBytes(headerOf(), ...events)

const refusal = (log: Uint8Array, bank: number = sha256) => {
  try {
    parseEventLog(log, bank)
  } catch (error) {
    expect(error).toBeInstanceOf(TpmFormatError)
    return (error as Error).message
  }
  return undefined
}

describe('an event log', () => {
  it('is read for one bank', () => {
    const log = logOf(eventOf(7, 1), eventOf(23, 0x80000001, bothDigests, new Uint8Array()))
    expect(parseEventLog(log, sha256)).toEqual([
      { pcr: 7, type: 1, digest: filled(32, 2), data: utf8('data') },
      { pcr: 23, type: 0x80000001, digest: filled(32, 2), data: new Uint8Array() },
    ])
    expect(parseEventLog(log, sha1).map(({ digest }) => digest)).toEqual([
      filled(20, 1),
      filled(20, 1),
    ])
    const turned = logOf(eventOf(7, 1, bothDigests.toReversed()))
    expect(parseEventLog(turned, sha256)[0]?.digest).toEqual(filled(32, 2))
    expect(parseEventLog(logOf(), sha256)).toEqual([])
  })

  it('ends where firmware has filled it up', () => {
    const log = logOf(eventOf(7, 1), filled(11, 0xff))
    expect(parseEventLog(log, sha256)).toHaveLength(1)
    expect(refusal(logOf(eventOf(7, 1), filled(3, 0xff)))).toBe('The event log ends too early')
  })

  it('is refused when it is cut anywhere but between two events', () => {
    const [first, second] = [logOf(eventOf(7, 1)), logOf(eventOf(7, 1), eventOf(4, 2))]
    for (let length = 0; length < second.length; length++) {
      const isWhole = length === logOf().length || length === first.length
      expect([length, refusal(second.slice(0, length))]).toEqual([
        length,
        isWhole ? undefined : expect.stringMatching(/^The event log (ends too early|is not)/),
      ])
    }
  })

  it('is as long as is read at all', () => {
    const room = maxEventLogBytes - logOf(eventOf(7, 1, bothDigests, new Uint8Array())).length
    const longest = logOf(eventOf(7, 1, bothDigests, new Uint8Array(room)))
    expect([longest.length, refusal(longest)]).toEqual([maxEventLogBytes, undefined])
    expect(refusal(concatBytes(longest, Uint8Array.of(0)))).toBe('The event log is too long')
  })

  it('names registers that exist', () => {
    expect(refusal(logOf(eventOf(23, 1)))).toBeUndefined()
    expect(refusal(logOf(eventOf(24, 1)))).toBe('The event log names a PCR that does not exist')
  })

  it('has digests of the lengths that it declares, no more than eight', () => {
    const eight = Array.from({ length: 8 }, (_, index) => [sha256 + index, 32] as const)
    const digests: Digests = eight.map(([algorithm]) => [algorithm, filled(32, algorithm)])
    const log = (...all: Digests) => concatBytes(headerOf(eight), eventOf(1, 1, all))
    expect(parseEventLog(log(...digests), sha256)[0]?.digest).toEqual(filled(32, sha256))
    expect(refusal(log(...digests, digests[0]!))).toBe('An event has too many digests')
    const nine = [...eight, [sha1, 20] as const]
    expect(refusal(concatBytes(headerOf(nine)))).toBe('The event log declares too many digests')
    expect(refusal(logOf(eventOf(1, 1, [[sha384, filled(48, 1)]])))).toBe(
      'An event has a digest of unknown length',
    )
  })

  it('has a digest of the bank for each event, of its own length', () => {
    const without = 'An event has no digest of the bank that was quoted'
    expect(refusal(logOf(eventOf(1, 1, [[sha1, filled(20, 1)]])))).toBe(without)
    expect(refusal(logOf(eventOf(1, 1, [])))).toBe(without)
    const short = concatBytes(headerOf([[sha256, 31]]), eventOf(1, 1, [[sha256, filled(31, 1)]]))
    expect(refusal(short)).toBe(without)
  })

  it('begins with an event that says that it is crypto-agile', () => {
    const other = concatBytes(headerOf(lengths, 'Spec ID Event02'), eventOf(1, 1))
    expect(refusal(other)).toBe('The event log is not a crypto-agile one')
    const cut = headerOf(lengths, 'Spec ID Event03', 3)
    expect(refusal(cut)).toBe('The event log ends too early')
  })
})

describe('the registers that a boot leads to', () => {
  const event = (changes: Partial<BootEvent>): BootEvent => ({
    ...{ pcr: 0, type: 1, digest: filled(32, 5), data: new Uint8Array() },
    ...changes,
  })
  const locality = (value: number) =>
    event({ type: 3, data: concatBytes(utf8('StartupLocality\0'), Uint8Array.of(value)) })
  const extended = async (before: Bytes, digest: Bytes) =>
    toHex(await tpmDigest(sha256, concatBytes(before, digest)))
  const replayed = async (...events: readonly BootEvent[]) =>
    Object.fromEntries(
      [...(await replayEventLog(events, sha256))].map(([pcr, value]) => [pcr, toHex(value)]),
    )
  const zero = new Uint8Array(32)

  it('are extended in the order of the events, each on its own', async () => {
    const [one, two] = [filled(32, 5), filled(32, 6)]
    const after = new Uint8Array(await tpmDigest(sha256, concatBytes(zero, one)))
    expect(
      await replayed(event({}), event({ pcr: 7, digest: two }), event({ digest: two })),
    ).toEqual({
      0: await extended(after, two),
      7: await extended(zero, two),
    })
    expect(await replayed()).toEqual({})
  })

  it('do not change by notes, which were not measured', async () => {
    const note = event({ type: 3, pcr: 4, data: utf8('anything') })
    expect([isMeasured(note), isMeasured(event({}))]).toEqual([false, true])
    expect(await replayed(note, event({ pcr: 4 }))).toEqual({
      4: await extended(zero, filled(32, 5)),
    })
    expect(await replayed(note)).toEqual({})
  })

  it('begin, PCR 0 alone, at the locality that started the TPM', async () => {
    const start = new Uint8Array(32)
    start[31] = 3
    expect(await replayed(locality(3))).toEqual({ 0: toHex(start) })
    expect(await replayed(locality(3), event({}))).toEqual({
      0: await extended(start, filled(32, 5)),
    })
    // Only there, only before anything was measured, and only a note that says so.
    expect(await replayed({ ...locality(3), pcr: 1 })).toEqual({})
    const measured = { 0: await extended(zero, filled(32, 5)) }
    expect(await replayed(event({}), locality(3))).toEqual(measured)
    expect(await replayed(locality(3), locality(4))).toEqual({ 0: toHex(start) })
    expect(await replayed(event({ type: 3, data: utf8('StartupLocalit!\0\u0003') }))).toEqual({})
    expect(await replayed(event({ type: 3, data: utf8('StartupLocality') }))).toEqual({
      0: toHex(zero),
    })
  })

  it('are as long as the digests of their bank', async () => {
    const start = (await replayEventLog([locality(1)], sha1)).get(0)
    expect(start).toHaveLength(20)
    const values = await replayEventLog([event({ digest: filled(20, 1) })], sha1)
    expect(values.get(0)).toEqual(await tpmDigest(sha1, concatBytes(filled(20, 0), filled(20, 1))))
  })
})
