import { describe, expect, it } from 'vitest'
import { concatBytes, fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { tpmAlgorithm, tpmCurveOf, tpmDigest, tpmHashOf } from '../../../lib/tpm/algorithms.ts'
import {
  createTpmReader,
  createTpmWriter,
  leftPadded,
  TpmFormatError,
  type TpmWriter,
} from '../../../lib/tpm/bytes.ts'
import { toHex } from '../../../lib/tpm/hex.ts'
import { pcrSelectionBytes, readPcrSelections } from '../../../lib/tpm/pcr-selection.ts'
import { jwkOf, nameOf, parsePublicArea } from '../../../lib/tpm/public-area.ts'
import { parseQuote } from '../../../lib/tpm/quote.ts'
import { isSignedByTpm, parseTpmSignature } from '../../../lib/tpm/signature.ts'
import { swtpmEvidence } from '../../icl/attestation/swtpm-evidence.ts'

type Bytes = Uint8Array<ArrayBuffer>
const { rsa, ecc, none, aes, cfb, sha1, sha256, sha384, rsassa, rsapss, ecdsa, hmac } = tpmAlgorithm

/** What a reader refuses the bytes with. */
const refusal = (read: () => unknown) => {
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(TpmFormatError)
    expect((error as Error).name).toBe('TpmFormatError')
    return (error as Error).message
  }
  return undefined
}

type Area = {
  readonly type?: number
  readonly nameHash?: number
  readonly policy?: Bytes
  /** An algorithm, and bits and mode unless it is none. */
  readonly symmetric?: readonly number[]
  /** An algorithm, and a hash unless it is none. */
  readonly scheme?: readonly number[]
  readonly kdf?: readonly number[]
  readonly bits?: number
  readonly exponent?: number
  readonly modulus?: Bytes
  readonly curve?: number
  readonly x?: Bytes
  readonly y?: Bytes
}

const words = (writer: TpmWriter, values: readonly number[]) =>
  values.reduce((to, value) => to.u16(value), writer)

function areaBytes({
  type = rsa,
  nameHash = sha256,
  policy = new Uint8Array(),
  symmetric = [none],
  scheme = [none],
  kdf = [none],
  bits = 2_048,
  exponent = 0,
  modulus = new Uint8Array(256).fill(9),
  curve = 3,
  x = new Uint8Array(32).fill(1),
  y = new Uint8Array(32).fill(2),
}: Area): Bytes {
  const head = createTpmWriter().u16(type).u16(nameHash).u32(0x00050072).sized(policy)
  words(head, symmetric)
  words(head, scheme)
  if (type === rsa) return head.u16(bits).u32(exponent).sized(modulus).done()
  return words(head.u16(curve), kdf).sized(x).sized(y).done()
}

describe('a public area', () => {
  it('of an RSA key is read whole', () => {
    const policy = new Uint8Array(32).fill(7)
    const area = { policy, symmetric: [aes, 128, cfb], scheme: [rsassa, sha256], exponent: 3 }
    const bytes = areaBytes(area)
    expect(parsePublicArea(bytes)).toEqual({
      ...{ nameHash: sha256, attributes: 0x00050072, authPolicy: policy, bytes },
      symmetric: { algorithm: aes, bits: 128, mode: cfb },
      scheme: { algorithm: rsassa, hash: sha256 },
      key: { kind: 'rsa', bits: 2_048, exponent: 3, modulus: new Uint8Array(256).fill(9) },
    })
    expect(parsePublicArea(areaBytes({}))).toMatchObject({
      ...{ symmetric: undefined, scheme: undefined, key: { exponent: 65_537 } },
    })
  })

  it('of an ECC key is read whole, leading zeros or not', () => {
    const area = areaBytes({ type: ecc, scheme: [ecdsa, sha1], x: Uint8Array.of(5), curve: 4 })
    const padded = new Uint8Array(48)
    padded[47] = 5
    expect(parsePublicArea(area).key).toEqual({
      ...{ kind: 'ecc', curve: 4, x: padded },
      y: concatBytes(new Uint8Array(16), new Uint8Array(32).fill(2)),
    })
    const derived = areaBytes({ type: ecc, kdf: [0x20, sha256] })
    expect(parsePublicArea(derived).key).toMatchObject({ kind: 'ecc', curve: 3 })
  })

  it.each<[string, Bytes, RegExp]>([
    ['of a keyed hash', areaBytes({ type: tpmAlgorithm.keyedHash }), /neither RSA nor ECC/],
    ['with an unknown hash', areaBytes({ nameHash: 0x99 }), /^0x99 is not a hash that is known/],
    ['with an unknown scheme', areaBytes({ scheme: [hmac, sha256] }), /a scheme that is not known/],
    [
      'with an unknown hash of its scheme',
      areaBytes({ scheme: [rsapss, 1] }),
      /^0x1 is not a hash/,
    ],
    [
      'with an unknown curve',
      areaBytes({ type: ecc, curve: 5 }),
      /^0x5 is not a curve that is known/,
    ],
    [
      'with an unknown hash of its KDF',
      areaBytes({ type: ecc, kdf: [0x20, 2] }),
      /^0x2 is not a ha/,
    ],
    ['with a coordinate too long', areaBytes({ type: ecc, x: new Uint8Array(33) }), /too long$/],
    ['with more after it', concatBytes(areaBytes({}), Uint8Array.of(0)), /has data after its end/],
    ['cut short', areaBytes({}).slice(0, -1), /ends too early/],
    ['with a policy too long', areaBytes({ policy: new Uint8Array(65) }), /part .* is too long/],
  ])('%s is refused', (_, bytes, message) => {
    expect(refusal(() => parsePublicArea(bytes))).toMatch(message)
  })

  it('has no more than 1,024 bytes', () => {
    expect(refusal(() => parsePublicArea(new Uint8Array(1_025)))).toBe(
      'The public area is too long',
    )
    expect(refusal(() => parsePublicArea(new Uint8Array(1_024)))).toMatch(/neither RSA nor ECC/)
  })

  it('is named by its hash', async () => {
    const area = parsePublicArea(areaBytes({ nameHash: sha384 }))
    expect(await nameOf(area)).toEqual(
      concatBytes(Uint8Array.of(0, sha384), await tpmDigest(sha384, area.bytes)),
    )
  })

  it('becomes a JSON Web Key without leading zeros of the exponent', () => {
    const keyOf = (area: Area) => jwkOf(parsePublicArea(areaBytes(area)).key)
    const n = toBase64Url(new Uint8Array(256).fill(9))
    expect(keyOf({})).toEqual({ kty: 'RSA', n, e: 'AQAB' })
    expect(keyOf({ exponent: 3 })).toEqual({ kty: 'RSA', n, e: 'Aw' })
    expect(keyOf({ exponent: 0x01000001 })).toMatchObject({ e: 'AQAAAQ' })
    expect(keyOf({ type: ecc, curve: 3 })).toEqual({
      ...{ kty: 'EC', crv: 'P-256' },
      x: toBase64Url(new Uint8Array(32).fill(1)),
      y: toBase64Url(new Uint8Array(32).fill(2)),
    })
  })
})

describe('a signature of a TPM', () => {
  const rsaSignature = createTpmWriter().u16(rsassa).u16(sha256).sized(new Uint8Array(256)).done()

  it('is read by its scheme', () => {
    expect(parseTpmSignature(rsaSignature)).toEqual({
      ...{ kind: 'rsassa', hash: sha256, signature: new Uint8Array(256) },
    })
    const [r, s] = [Uint8Array.of(1), Uint8Array.of(2)]
    const bytes = createTpmWriter().u16(ecdsa).u16(sha384).sized(r).sized(s).done()
    expect(parseTpmSignature(bytes)).toEqual({ kind: 'ecdsa', hash: sha384, r, s })
  })

  it('of another scheme, cut short or with more after it is refused', () => {
    const other = createTpmWriter().u16(rsapss).u16(sha256).sized(new Uint8Array(256)).done()
    expect(refusal(() => parseTpmSignature(other))).toBe(
      'The signature is neither RSASSA nor ECDSA',
    )
    expect(refusal(() => parseTpmSignature(rsaSignature.slice(0, -1)))).toMatch(/ends too early/)
    const more = concatBytes(rsaSignature, Uint8Array.of(0))
    expect(refusal(() => parseTpmSignature(more))).toMatch(/has data after its end/)
  })

  const parts = (kind: 'ecc' | 'rsa') => {
    const { akPublic, evidence } = swtpmEvidence.keys[kind]
    return {
      area: parsePublicArea(fromBase64Url(akPublic)),
      attest: fromBase64Url(evidence.attest),
      signature: fromBase64Url(evidence.signature),
    }
  }

  it.each(['ecc', 'rsa'] as const)(
    'counts by the one scheme that the key has (%s)',
    async (kind) => {
      const { area, attest, signature } = parts(kind)
      const scheme = area.scheme!
      expect(await isSignedByTpm(area, attest, signature)).toBe(true)
      expect(await isSignedByTpm({ ...area, scheme: undefined }, attest, signature)).toBe(false)
      const otherHash = { ...area, scheme: { ...scheme, hash: sha384 } }
      expect(await isSignedByTpm(otherHash, attest, signature)).toBe(false)
      const algorithm = kind === 'ecc' ? rsassa : ecdsa
      const otherScheme = { ...area, scheme: { ...scheme, algorithm } }
      expect(await isSignedByTpm(otherScheme, attest, signature)).toBe(false)
    },
  )

  it('does not count for a key of another kind, whatever scheme that claims', async () => {
    const [one, other] = [parts('ecc'), parts('rsa')]
    const claims = { ...one.area, scheme: other.area.scheme }
    expect(await isSignedByTpm(claims, other.attest, other.signature)).toBe(false)
    const claimsToo = { ...other.area, scheme: one.area.scheme }
    expect(await isSignedByTpm(claimsToo, one.attest, one.signature)).toBe(false)
  })

  it('of another length than the key does not count', async () => {
    const { area, attest, signature } = parts('rsa')
    const { signature: number } = parseTpmSignature(signature) as { signature: Bytes }
    for (const changed of [number.slice(1), concatBytes(Uint8Array.of(0), number)]) {
      const bytes = createTpmWriter().u16(rsassa).u16(sha256).sized(changed).done()
      expect(await isSignedByTpm(area, attest, bytes)).toBe(false)
    }
  })

  it('by numbers that are no key is refused, with the reason', async () => {
    const { area, attest, signature } = parts('ecc')
    const key = { kind: 'ecc', curve: 3, x: new Uint8Array(32), y: new Uint8Array(32) } as const
    const error = await isSignedByTpm({ ...area, key }, attest, signature).catch(
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(TpmFormatError)
    expect(error).toMatchObject({ message: 'The numbers of the TPM key are no key' })
    expect((error as Error).cause).toBeDefined()
  })
})

describe('a quote', () => {
  const attest = fromBase64Url(swtpmEvidence.keys.ecc.evidence.attest)

  it('says everything that the TPM signed', () => {
    const signer = Uint8Array.of(1, 2)
    const bytes = createTpmWriter()
      .u32(0xff544347)
      .u16(0x8018)
      .sized(signer)
      .sized(Uint8Array.of(3))
      .u64(4n)
      .u32(5)
      .u32(6)
      .u8(1)
      .u64(7n)
      .raw(pcrSelectionBytes({ bank: sha256, pcrs: [8] }))
      .sized(Uint8Array.of(9))
      .done()
    const quote = {
      ...{ qualifiedSigner: signer, extraData: Uint8Array.of(3), clock: 4n, resetCount: 5 },
      ...{ restartCount: 6, safe: true, firmwareVersion: 7n, pcrDigest: Uint8Array.of(9) },
      selections: [{ bank: sha256, pcrs: [8] }],
    }
    expect(parseQuote(bytes)).toEqual(quote)
    const unsafe = bytes.slice()
    unsafe[4 + 2 + 4 + 3 + 8 + 4 + 4] = 0
    expect(parseQuote(unsafe)).toEqual({ ...quote, safe: false })
    expect(refusal(() => parseQuote(concatBytes(bytes, Uint8Array.of(0))))).toMatch(
      /has data after/,
    )
  })

  it('that is none says what is wrong with it', () => {
    const changed = (at: number) => {
      const bytes = attest.slice()
      bytes[at] = 0
      return refusal(() => parseQuote(bytes))
    }
    expect(changed(0)).toBe('The signed structure was not made by a TPM (magic)')
    expect(changed(4)).toBe('The signed structure is not a quote (type)')
  })
})

describe('a selection of registers', () => {
  it.each([-1, 24, 1.5, Number.NaN])('has no register %s', (pcr) => {
    expect(refusal(() => pcrSelectionBytes({ bank: sha256, pcrs: [0, pcr] }))).toBe(
      `There is no PCR ${pcr}`,
    )
  })

  it('has all of them, or none, and each once', () => {
    const all = Array.from({ length: 24 }, (_, pcr) => pcr)
    for (const pcrs of [all, []]) {
      const written = pcrSelectionBytes({ bank: sha1, pcrs: [...pcrs, ...pcrs] })
      expect(readPcrSelections(createTpmReader(written))).toEqual([{ bank: sha1, pcrs }])
    }
  })

  it('is of sixteen banks at most', () => {
    const banks = (count: number) => {
      const writer = createTpmWriter().u32(count)
      for (let bank = 0; bank < count; bank++) writer.u16(bank).u8(1).u8(0x81)
      return createTpmReader(writer.done())
    }
    expect(readPcrSelections(banks(16)).map(({ pcrs }) => pcrs)).toEqual(
      Array.from({ length: 16 }, () => [0, 7]),
    )
    expect(refusal(() => readPcrSelections(banks(17)))).toBe('The quote selects too many PCR banks')
  })
})

describe('the parts of a structure', () => {
  it('say what is wrong with them', () => {
    expect(refusal(() => createTpmReader(new Uint8Array(1)).u16())).toBe(
      'The TPM structure ends too early',
    )
    expect(refusal(() => createTpmReader(Uint8Array.of(0, 2, 0, 0)).sized(1))).toBe(
      'A part of the TPM structure is too long',
    )
    expect(refusal(() => createTpmReader(new Uint8Array(1)).end())).toBe(
      'The TPM structure has data after its end',
    )
    expect(refusal(() => leftPadded(new Uint8Array(3), 2))).toBe(
      'An integer of the TPM is too long',
    )
    expect(leftPadded(Uint8Array.of(1, 2), 2)).toEqual(Uint8Array.of(1, 2))
  })

  it('are at most 4,096 bytes long when nothing else is said, and can be written up to 65,535', () => {
    const written = (length: number) => createTpmWriter().sized(new Uint8Array(length)).done()
    expect(createTpmReader(written(4_096)).sized()).toHaveLength(4_096)
    expect(refusal(() => createTpmReader(written(4_097)).sized())).toMatch(/is too long$/)
    expect(written(65_535)).toHaveLength(65_537)
    expect(refusal(() => written(65_536))).toBe('A TPM structure has no such long part')
  })
})

it('hashes and curves have the lengths of the standards', async () => {
  const hashes = [sha1, sha256, sha384, tpmAlgorithm.sha512].map(tpmHashOf)
  expect(hashes.map(({ name, bytes }) => [name, bytes])).toEqual([
    ['SHA-1', 20],
    ['SHA-256', 32],
    ['SHA-384', 48],
    ['SHA-512', 64],
  ])
  for (const { id, bytes } of hashes) {
    expect(await tpmDigest(id, new Uint8Array())).toHaveLength(bytes)
  }
  expect(toHex(await tpmDigest(sha1, new Uint8Array()))).toMatch(/^da39a3ee/)
  expect([tpmCurveOf(3).name, tpmCurveOf(4).name]).toEqual(['P-256', 'P-384'])
})
