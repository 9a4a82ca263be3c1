import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tpmAlgorithm } from '../../../lib/tpm/algorithms.ts'
import { createTpmReader, TpmFormatError } from '../../../lib/tpm/bytes.ts'
import { parseEventLog, replayEventLog } from '../../../lib/tpm/event-log.ts'
import { pcrSelectionBytes, readPcrSelections } from '../../../lib/tpm/pcr-selection.ts'
import { jwkOf, nameOf, parsePublicArea } from '../../../lib/tpm/public-area.ts'
import { parseQuote } from '../../../lib/tpm/quote.ts'
import { parseTpmSignature } from '../../../lib/tpm/signature.ts'
import { patience, runs } from './runs.ts'

const u16 = (value: number) => [value >> 8, value & 255]
const u32 = (value: number) => [...u16(value >>> 16), ...u16(value & 0xffff)]

/** Bytes that begin as a structure does, and go on as nobody expects. */
const after = (...starts: readonly (readonly number[])[]) =>
  fc
    .tuple(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 300 }))
    .map(([start, rest]) => Uint8Array.of(...start, ...rest))

const anyBytes = fc.uint8Array({ maxLength: 300 })
const { rsa, ecc, sha256, ecdsa, rsassa } = tpmAlgorithm

async function expectFormatError(work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof TpmFormatError)) throw error
  }
}

describe('structures of a TPM, of any bytes', () => {
  it(
    'a public area',
    async () => {
      const area = after(
        [],
        [...u16(rsa), ...u16(sha256)],
        [...u16(ecc), ...u16(sha256), ...u32(0x50072), 0, 0, ...u16(0x10)],
      )
      await fc.assert(
        fc.asyncProperty(area, (bytes) =>
          expectFormatError(async () => {
            const parsed = parsePublicArea(bytes)
            jwkOf(parsed.key)
            await nameOf(parsed)
          }),
        ),
        runs(500),
      )
    },
    patience,
  )

  it(
    'a quote',
    async () => {
      const quote = after([], u32(0xff544347), [...u32(0xff544347), ...u16(0x8018), 0, 0, 0, 0])
      await fc.assert(
        fc.asyncProperty(quote, (bytes) => expectFormatError(() => parseQuote(bytes))),
        runs(500),
      )
    },
    patience,
  )

  it(
    'a signature',
    async () => {
      const signature = after([], [...u16(ecdsa), ...u16(sha256)], [...u16(rsassa), ...u16(sha256)])
      await fc.assert(
        fc.asyncProperty(signature, (bytes) => expectFormatError(() => parseTpmSignature(bytes))),
        runs(500),
      )
    },
    patience,
  )

  it(
    'a selection of registers',
    async () => {
      await fc.assert(
        fc.asyncProperty(anyBytes, (bytes) =>
          expectFormatError(() => readPcrSelections(createTpmReader(bytes))),
        ),
        runs(500),
      )
      fc.assert(
        fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1 }), (pcrs) => {
          const written = pcrSelectionBytes({ bank: sha256, pcrs })
          const [read] = readPcrSelections(createTpmReader(written))
          expect(read).toEqual({ bank: sha256, pcrs: pcrs.toSorted((a, b) => a - b) })
        }),
        runs(100),
      )
    },
    patience,
  )

  it(
    'an event log',
    async () => {
      const name = [...new TextEncoder().encode('Spec ID Event03'), 0]
      const little = (value: number) => u32(value).reverse()
      const header = [...name, ...new Array(8).fill(0), ...little(1), 0x0b, 0, 32, 0, 0]
      const start = [...new Array(28).fill(0), ...little(header.length), ...header]
      const log = after([], start, [
        ...start,
        ...little(0),
        ...little(8),
        ...little(1),
        0x0b,
        0,
        ...new Array(32).fill(7),
      ])
      await fc.assert(
        fc.asyncProperty(log, (bytes) =>
          expectFormatError(async () => replayEventLog(parseEventLog(bytes, sha256), sha256)),
        ),
        runs(400),
      )
    },
    patience,
  )
})
