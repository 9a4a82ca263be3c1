import { describe, expect, it } from 'vitest'
import { equalBytes, fromBase64Url } from '../../../lib/digest.ts'
import { objectAttribute, tpmAlgorithm, tpmHashOf } from '../../../lib/tpm/algorithms.ts'
import {
  createTpmReader,
  createTpmWriter,
  leftPadded,
  TpmFormatError,
} from '../../../lib/tpm/bytes.ts'
import { fromHex, toHex } from '../../../lib/tpm/hex.ts'
import { pcrSelectionBytes, readPcrSelections } from '../../../lib/tpm/pcr-selection.ts'
import { nameOf, parsePublicArea } from '../../../lib/tpm/public-area.ts'
import { NotAQuoteError, parseQuote } from '../../../lib/tpm/quote.ts'
import { isSignedByTpm, parseTpmSignature } from '../../../lib/tpm/signature.ts'
import { swtpmEvidence } from '../../icl/attestation/swtpm-evidence.ts'

describe('a reader', () => {
  it('reads what a writer wrote, big-endian', () => {
    const written = createTpmWriter()
      .u8(1)
      .u16(0x0203)
      .u32(0xfffefdfc)
      .u64(0x0102030405060708n)
      .sized(Uint8Array.of(9, 8))
      .raw(Uint8Array.of(7))
      .done()
    expect(toHex(written)).toBe('010203fffefdfc010203040506070800020908' + '07')
    const reader = createTpmReader(written)
    expect([reader.u8(), reader.u16(), reader.u32(), reader.u64()]).toEqual([
      1,
      0x0203,
      0xfffefdfc,
      0x0102030405060708n,
    ])
    expect([...reader.sized()]).toEqual([9, 8])
    expect(reader.left()).toBe(1)
    expect(() => reader.end()).toThrow(TpmFormatError)
    expect([...reader.raw(1)]).toEqual([7])
    reader.end()
    expect(() => reader.u8()).toThrow(TpmFormatError)
  })

  it('keeps what it was given, whatever becomes of the source', () => {
    const source = Buffer.from([0, 2, 5, 6])
    const reader = createTpmReader(source)
    source.fill(0)
    expect([...reader.sized()]).toEqual([5, 6])
  })

  it('takes no part that is longer than allowed', () => {
    const bytes = createTpmWriter().sized(new Uint8Array(40)).done()
    expect(() => createTpmReader(bytes).sized(39)).toThrow(TpmFormatError)
    expect(createTpmReader(bytes).sized(40)).toHaveLength(40)
  })

  it('pads integers whose leading zeros a TPM left out', () => {
    expect([...leftPadded(Uint8Array.of(1), 3)]).toEqual([0, 0, 1])
    expect(() => leftPadded(new Uint8Array(4), 3)).toThrow(TpmFormatError)
  })
})

describe('a selection of registers', () => {
  it('is read as it was written', () => {
    const written = pcrSelectionBytes({ bank: tpmAlgorithm.sha256, pcrs: [0, 7, 16, 23] })
    expect(toHex(written)).toBe('00000001000b03810081')
    expect(readPcrSelections(createTpmReader(written))).toEqual([
      { bank: tpmAlgorithm.sha256, pcrs: [0, 7, 16, 23] },
    ])
  })

  it('of registers or banks that do not exist is refused', () => {
    expect(() => pcrSelectionBytes({ bank: 11, pcrs: [24] })).toThrow(TpmFormatError)
    const many = createTpmWriter().u32(0xffffffff).done()
    expect(() => readPcrSelections(createTpmReader(many))).toThrow(TpmFormatError)
  })
})

describe('what a TPM made', () => {
  it.each(['ecc', 'rsa'] as const)('is read, named and verified (%s)', async (kind) => {
    const { akPublic, akName, evidence } = swtpmEvidence.keys[kind]
    const area = parsePublicArea(fromBase64Url(akPublic))
    expect(area.key.kind).toBe(kind)
    expect(area.attributes & objectAttribute.restricted).not.toBe(0)
    expect(toHex(await nameOf(area))).toBe(akName)
    const attest = fromBase64Url(evidence.attest)
    const signature = fromBase64Url(evidence.signature)
    expect(await isSignedByTpm(area, attest, signature)).toBe(true)
    const quote = parseQuote(attest)
    expect(toHex(quote.extraData)).toBe(swtpmEvidence.extraData)
    expect(quote.selections).toEqual([
      { bank: tpmAlgorithm.sha256, pcrs: [0, 1, 2, 3, 4, 5, 6, 7] },
    ])
    const changed = attest.slice()
    changed[40] = (changed[40] ?? 0) ^ 1
    expect(await isSignedByTpm(area, changed, signature)).toBe(false)
  })

  it('by another kind of key is not accepted', async () => {
    const { ecc, rsa } = swtpmEvidence.keys
    const area = parsePublicArea(fromBase64Url(ecc.akPublic))
    const attest = fromBase64Url(rsa.evidence.attest)
    expect(await isSignedByTpm(area, attest, fromBase64Url(rsa.evidence.signature))).toBe(false)
  })

  it('and is no quote is told from bytes that are nothing', () => {
    const attest = fromBase64Url(swtpmEvidence.keys.ecc.evidence.attest)
    const part = (at: number) => {
      const bytes = attest.slice()
      bytes[at] = 0
      try {
        parseQuote(bytes)
      } catch (error) {
        return error instanceof NotAQuoteError ? error.part : 'other'
      }
      return 'none'
    }
    expect([part(0), part(4)]).toEqual(['magic', 'type'])
    expect(() => parseQuote(attest.slice(0, 60))).toThrow(TpmFormatError)
    expect(() => parseTpmSignature(fromHex('0005000b'))).toThrow(TpmFormatError)
    expect(() => tpmHashOf(0x99)).toThrow(TpmFormatError)
    expect(equalBytes(attest, attest.slice())).toBe(true)
  })

  it('with a point that is not on its curve is refused as malformed', async () => {
    const { akPublic, evidence } = swtpmEvidence.keys.ecc
    const bytes = fromBase64Url(akPublic)
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
    const call = isSignedByTpm(
      parsePublicArea(bytes),
      fromBase64Url(evidence.attest),
      fromBase64Url(evidence.signature),
    )
    await expect(call).rejects.toThrow(TpmFormatError)
  })
})
