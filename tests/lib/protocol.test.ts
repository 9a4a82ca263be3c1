import { describe, expect, it } from 'vitest'
import { attestationDigest } from '../../lib/attestation.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'
import {
  Address,
  Base64Url,
  Cid,
  ModelId,
  SessionPublicKey,
  SessionSignature,
  Uint256,
  WalletSignature,
} from '../../lib/codecs.ts'
import { exact } from '../../lib/comparators/exact.ts'
import { equalBytes } from '../../lib/digest.ts'
import { countTokens, evidenceKey, normalise } from '../../lib/evidence.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { aJobId, anAddress } from '../branded.ts'

describe('evidence', () => {
  it('is the same for texts that differ only in how they are written', () => {
    const written = ['a  b\r\nc', 'a  b \nc\n\n', 'a  b\t\rc  ']
    expect(new Set(written.map(normalise)).size).toBe(1)
    expect(normalise('e\u0301')).toBe('\u00e9')
    expect(normalise('a b')).not.toBe(normalise('a  b'))
    expect([countTokens(''), countTokens('one two\nthree')]).toEqual([0, 3])
  })

  it('is made in linear time, whatever the text', () => {
    const text = `${' '.repeat(500_000)}a`
    expect(normalise(text)).toBe(text)
    expect(normalise(`a${' '.repeat(500_000)}\n`)).toBe('a')
  })

  it('says nothing without the key, and differs from job to job', async () => {
    const prompt = new Uint8Array(32).fill(1)
    const [one, two] = await Promise.all(
      (['1', '2'] as const).map((digit) => evidenceKey(prompt, aJobId(`0x${digit.repeat(64)}`))),
    )
    const a = await exact.evidenceOf({ text: 'answer', prompt: '', key: one! })
    const b = await exact.evidenceOf({ text: 'answer', prompt: '', key: two! })
    expect(a.digest).not.toBe(b.digest)
    expect(
      exact.compare(a, await exact.evidenceOf({ text: 'answer \n', prompt: '', key: one! })),
    ).toBe('match')
    expect(
      exact.compare(a, await exact.evidenceOf({ text: 'Answer', prompt: '', key: one! })),
    ).toBe('no-match')
    expect(exact.malformation({ ...a, sketch: 'AA' })).toBeDefined()
  })
})

describe('what travels', () => {
  it('has one spelling', () => {
    expect(Address.parse(`0x${'Ab'.repeat(20)}`)).toBe(anAddress(`0x${'ab'.repeat(20)}`))
    expect(Uint256.parse('0x10')).toBe(16n)
    expect(Uint256.safeParse((2n ** 256n).toString()).success).toBe(false)
    expect(Uint256.safeParse('-1').success).toBe(false)
    expect(Cid.safeParse('QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG').success).toBe(false)
    const signature = `0x${'1'.repeat(128)}1b`
    expect(WalletSignature.safeParse(signature).success).toBe(true)
    for (const other of [
      `${signature.slice(0, -2)}00`,
      `0x${'f'.repeat(128)}1b`,
      `0x${'zz'.repeat(65)}`,
      'abc',
      '',
    ]) {
      expect(WalletSignature.safeParse(other).success).toBe(false)
    }
    expect(SessionPublicKey.safeParse(`B${'A'.repeat(42)}`).success).toBe(true)
    expect(SessionPublicKey.safeParse(`B${'A'.repeat(41)}B`).success).toBe(false)
    expect(SessionSignature.safeParse(`${'A'.repeat(85)}B`).success).toBe(false)
    for (const [text, holds] of [
      ['', true],
      ['AA', true],
      ['AB', false],
      ['A', false],
    ] as const) {
      expect(Base64Url(8).safeParse(text).success).toBe(holds)
    }
    expect(ModelId.safeParse('gpt-4o').success).toBe(false)
    expect(ModelId.parse('openai:gpt-4o')).toBe('openai:gpt-4o')
  })

  it('is canonical JSON where it is signed', () => {
    const text = (value: unknown) => new TextDecoder().decode(canonicalJson(value))
    expect(text({ b: 1, a: [true, null, 'é'] })).toBe('{"a":[true,null,"é"],"b":1}')
    expect(text({ a: 1, absent: undefined })).toBe('{"a":1}')
    expect(() => canonicalJson(undefined)).toThrow()
  })
})

it('a job id depends on each of its parts', () => {
  const identity = {
    chainId: 1,
    client: anAddress(`0x${'1'.repeat(40)}`),
    promptCid: 'bafkrei',
    kpHighHandle: 1n,
    kpLowHandle: 2n,
    clientNonce: 3n,
  }
  const changes = [
    {},
    { chainId: 2 },
    { client: anAddress(`0x${'2'.repeat(40)}`) },
    { promptCid: 'other' },
    { kpHighHandle: 9n },
    { kpLowHandle: 9n },
    { clientNonce: 9n },
  ]
  const ids = changes.map((change) => jobIdOf({ ...identity, ...change }))
  expect(new Set(ids).size).toBe(changes.length)
})

it('an attestation digest depends on each of its parts, and parts cannot run into one another', async () => {
  const binding = {
    origin: 'https://a',
    chainId: 1,
    backend: 'mock' as const,
    address: anAddress(`0x${'1'.repeat(40)}`),
    nonce: 'n',
    activationSecret: new Uint8Array(),
    sessionPublicKey: 'A'.repeat(43),
  }
  const changes = [
    {},
    { origin: 'https://b' },
    { chainId: 2 },
    { backend: 'tpm' as const },
    { address: anAddress(`0x${'2'.repeat(40)}`) },
    { nonce: 'm' },
    { activationSecret: new Uint8Array(1) },
    { sessionPublicKey: `B${'A'.repeat(42)}` },
    { origin: 'https://a1', chainId: 1 },
    { origin: 'https://a', chainId: 11 },
  ]
  const digests = await Promise.all(
    changes.map(async (change) =>
      Buffer.from(await attestationDigest({ ...binding, ...change })).toString('hex'),
    ),
  )
  expect(new Set(digests).size).toBe(changes.length)
})

it('secrets are compared whole', () => {
  expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true)
  for (const other of [[1, 3], [1], [1, 2, 0], []]) {
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.from(other))).toBe(false)
  }
})
