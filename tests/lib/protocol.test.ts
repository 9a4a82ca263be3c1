import { describe, expect, it } from 'vitest'
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
import { normalise } from '../../lib/evidence.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { evidenceKeyOf } from '../../lib/sealing/job-secret.ts'
import { aJobId, anAddress } from '../branded.ts'

describe('evidence', () => {
  it('is made in linear time, whatever the text', () => {
    const text = `${' '.repeat(500_000)}a`
    expect(normalise(text)).toBe(text)
    expect(normalise(`a${' '.repeat(500_000)}\n`)).toBe('a')
  })

  it('says nothing without the key, and differs from job to job', async () => {
    const prompt = new Uint8Array(32).fill(1)
    const [one, two] = await Promise.all(
      (['1', '2'] as const).map((digit) => evidenceKeyOf(prompt, aJobId(`0x${digit.repeat(64)}`))),
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

it('what travels has one spelling', () => {
  expect(Address.parse(`0x${'Ab'.repeat(20)}`)).toBe(anAddress(`0x${'ab'.repeat(20)}`))
  expect(Uint256.parse('0x10')).toBe(16n)
  expect(Uint256.safeParse((2n ** 256n).toString()).success).toBe(false)
  expect(Uint256.safeParse('-1').success).toBe(false)
  expect(Cid.safeParse('QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG').success).toBe(false)
  const cid = 'bafkreih2fsgmj4ubo2565vfxg3pvngruy6ong4r6t3cc7ftuwtkgvrvyxa'
  expect(Cid.safeParse(cid).success).toBe(true)
  for (const last of ['b', 'c', 'd', '2', '7']) {
    expect(Cid.safeParse(`${cid.slice(0, -1)}${last}`).success).toBe(false)
  }
  // Its digest would have another length.
  expect(Cid.safeParse(cid.replace('bafkreih', 'bafkreii')).success).toBe(false)
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
