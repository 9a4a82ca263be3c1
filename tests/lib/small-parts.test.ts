import { describe, expect, it } from 'vitest'
import { viewAgreement } from '../../lib/agreement.ts'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { unixSeconds } from '../../lib/clock.ts'
import { Base64Url } from '../../lib/codecs.ts'
import { exact } from '../../lib/comparators/exact.ts'
import { similar } from '../../lib/comparators/similar.ts'
import {
  concatBytes,
  equalBytes,
  fromBase64Url,
  hkdfSha256,
  hmacSha256,
  sha256,
  sha256Hex,
  toBase64Url,
  utf8,
} from '../../lib/digest.ts'
import { isRawAnswer } from '../../lib/endpoint.ts'
import { endpoints } from '../../lib/endpoints.ts'
import {
  countTokens,
  countUnits,
  normalise,
  sameEvidence,
  withShortMarkRuns,
} from '../../lib/evidence.ts'
import { isProblemCode, ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { fromHex, toHex } from '../../lib/tpm/hex.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'
import { breadAnswer, liftAnswer } from './comparators/texts.ts'

it('digests are those of the standards, for short and for long messages', async () => {
  // FIPS 180-2, B.1 and B.3; RFC 4231, 4.3; RFC 5869, A.1 with another info, made with HMAC alone.
  expect(await sha256Hex(utf8('abc'))).toBe(
    '0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
  expect(await sha256Hex(utf8('a'.repeat(1_000_000)))).toBe(
    '0xcdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0',
  )
  expect(await sha256(new Uint8Array(1_024))).toHaveLength(32)
  expect(toHex(await hmacSha256(utf8('Jefe'), utf8('what do ya want for nothing?')))).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  )
  const okm = await hkdfSha256(
    fromHex('0b'.repeat(22)),
    fromHex('000102030405060708090a0b0c'),
    'pqrstuvwxyz',
    42,
  )
  expect(toHex(okm)).toBe(
    '82b6c66fbeb95ea2cc606d4c8bdb0132758ffe87588f1cf35efa4a84018903023cb4fd990ca48588cbd2',
  )
})

describe('bytes', () => {
  it('are joined, compared whole and written as base64url', () => {
    expect(concatBytes(Uint8Array.of(1), new Uint8Array(), Uint8Array.of(2, 3))).toEqual(
      Uint8Array.of(1, 2, 3),
    )
    expect(concatBytes()).toEqual(new Uint8Array())
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true)
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false)
    // What is missing would count as zero.
    expect(equalBytes(Uint8Array.of(1, 0), Uint8Array.of(1))).toBe(false)
    expect(equalBytes(Uint8Array.of(1), Uint8Array.of(1, 0))).toBe(false)
    expect(equalBytes(Uint8Array.of(2, 3), Uint8Array.of(3, 2))).toBe(false)
    expect(toBase64Url(Uint8Array.of(251, 255))).toBe('-_8')
    expect(fromBase64Url('-_8')).toEqual(Uint8Array.of(251, 255))
  })

  it('are written as hex of two digits each', () => {
    expect(toHex(Uint8Array.of(0, 10, 255))).toBe('000aff')
    expect(fromHex('000aff')).toEqual(Uint8Array.of(0, 10, 255))
    expect(fromHex('')).toEqual(new Uint8Array())
  })

  it('that are signed are JSON in one spelling', () => {
    expect(new TextDecoder().decode(canonicalJson({ b: 1, a: ['x', undefined] }))).toBe(
      '{"a":["x",null],"b":1}',
    )
    expect(() => canonicalJson(undefined)).toThrow('Only JSON values have a canonical form')
  })
})

it('a text of bytes is one spelling of no more bytes than there may be', () => {
  const isRead = (text: string, most = 3) => Base64Url(most).safeParse(text).success
  expect([isRead('AAAA'), isRead('AAAAAAA'), isRead('AAAAAAA', 5)]).toEqual([true, false, true])
  expect([isRead('AB'), isRead('AA='), isRead('A+'), isRead('A')]).toEqual(Array(4).fill(false))
  expect(Base64Url(3).safeParse('A+').error?.issues[0]?.message).toBe('must be base64url')
})

describe('errors', () => {
  it('of the ICL have what their code says, and cross the wire as such', () => {
    const plain = new ProblemError('job-not-found', 'No such job')
    expect(plain.toProblem()).toEqual({
      ...{ type: 'urn:svc:problem:job-not-found', title: 'No such job' },
      ...{ status: 404, code: 'job-not-found', retryable: false, detail: 'No such job' },
    })
    const timed = new ProblemError('signature-stale', 'Old', {
      ...{ serverTime: 7, retryAfterSeconds: 3 },
    })
    expect([timed.name, timed.status, timed.retryable, timed.retryAfterSeconds]).toEqual([
      'ProblemError',
      401,
      true,
      3,
    ])
    expect(timed.toProblem('r1')).toMatchObject({ request_id: 'r1', server_time: 7 })
    expect(isProblemCode('job-not-found')).toBe(true)
    expect([isProblemCode('toString'), isProblemCode('other')]).toEqual([false, false])
  })

  it('of this machine have a hint, and a cause when there is one', () => {
    const cause = new Error('why')
    const error = new SvcError('some-code', 'What', { hint: 'Do', cause })
    expect(error).toMatchObject({
      ...{ name: 'SvcError', code: 'some-code', message: 'What', hint: 'Do', retryable: false },
      cause,
    })
    const bare = new SvcError('some-code', 'What', { hint: 'Do', retryable: true })
    expect([bare.retryable, 'cause' in bare]).toEqual([true, false])
  })
})

describe('texts', () => {
  it('are compared as they read, and counted by words', () => {
    expect(normalise('a \r\nb\t\rc\n\n ')).toBe('a\nb\nc')
    expect(normalise('  a')).toBe('  a')
    expect(normalise('e\u0301')).toBe('é')
    expect(normalise('x\ud800y')).toBe('x\ufffdy')
    expect([countTokens(''), countTokens(' a  b\nc '), countTokens('a')]).toEqual([0, 3, 1])
    expect(['', 'four', 'fives', '塔', '塔の'].map(countUnits)).toEqual([0, 1, 2, 1, 2])
    expect(countUnits('a'.repeat(4_194_309))).toBe(1_048_576)
  })

  it('have no run of more than 30 marks', () => {
    const marks = '\u0301'.repeat(30)
    expect(withShortMarkRuns(`a${marks}`)).toBe(`a${marks}`)
    expect(withShortMarkRuns(`a${marks}\u0301b`)).toBe(`a${marks}\u034f\u0301b`)
    expect(withShortMarkRuns('\uff9e'.repeat(31))).toBe(`${'\uff9e'.repeat(30)}\u034f\uff9e`)
  })

  it('have equal evidence only if all of it is equal', () => {
    const evidence = {
      comparator: 'similar/2',
      digest: 'd',
      tokens: 1,
      units: 1,
      sketch: 's',
    } as const
    expect(sameEvidence(evidence, { ...evidence })).toBe(true)
    const others = [
      { comparator: 'exact' as const },
      { digest: 'e' },
      { tokens: 2 },
      { units: 2 },
      { sketch: 't' },
      { sketch: undefined },
    ]
    for (const other of others)
      expect(sameEvidence(evidence, { ...evidence, ...other })).toBe(false)
  })
})

describe('the agreement that a client sees', () => {
  it('has who agrees, and how far each two answers are apart', () => {
    const shown = (digit: string, digest: string) => ({
      node: nodeAddress(digit),
      evidence: { comparator: 'exact', digest: digest.repeat(43), tokens: 1, units: 1 } as const,
    })
    const { why } = exact.explain(shown('a', 'A').evidence, shown('b', 'E').evidence)
    const agreement = {
      ...({ comparator: 'exact', rule: 'any-two', needed: 2 } as const),
      answers: [shown('a', 'A'), shown('b', 'A'), shown('c', 'E'), shown('d', 'E')],
      group: [nodeAddress('a'), nodeAddress('b')],
    }
    const view = viewAgreement({ ...agreement, deliverer: nodeAddress('b') })
    expect(view).toMatchObject({ rule: 'any-two', needed: 2, answers: 4 })
    expect(view).toMatchObject({ group: agreement.group, deliverer: nodeAddress('b') })
    expect('deliverer' in viewAgreement({ ...agreement, group: [] })).toBe(false)
    expect(
      view.pairs.map(({ nodes, outcome }) => [...nodes.map((node) => node[2]), outcome]),
    ).toEqual([
      ['a', 'b', 'match'],
      ['a', 'c', 'no-match'],
      ['a', 'd', 'no-match'],
      ['b', 'c', 'no-match'],
      ['b', 'd', 'no-match'],
      ['c', 'd', 'match'],
    ])
    expect(view.pairs[1]?.why).toBe(why)
    expect('similarities' in view.pairs[0]!).toBe(false)
  })

  it('has the similarities of a comparator that measures some', async () => {
    const shown = async (digit: string, text: string) => ({
      node: nodeAddress(digit),
      evidence: await similar.evidenceOf({ text, prompt: 'Why?', key: new Uint8Array(32) }),
    })
    const answers = [await shown('a', liftAnswer), await shown('b', breadAnswer)]
    const rule = { comparator: 'similar/2', rule: 'three', needed: 3 } as const
    const { pairs } = viewAgreement({ ...rule, answers, group: [] })
    const [one, other] = answers
    const { similarities } = similar.explain(one!.evidence, other!.evidence)
    expect(Object.keys(similarities ?? {}).length).toBeGreaterThan(0)
    expect(pairs).toMatchObject([{ similarities: { ...similarities } }])
  })
})

it('only streams and texts are handed over as they are', () => {
  const raw = Object.entries(endpoints)
    .filter(([, { response }]) => isRawAnswer(response))
    .map(([name]) => name)
  expect(raw).toEqual(expect.arrayContaining(['getMetrics', 'getDocs', 'followJob']))
  for (const name of ['getBlob', 'getJob', 'putBlob']) expect(raw).not.toContain(name)
})

it('time travels in whole seconds', () => {
  const at = (ms: number) => unixSeconds({ now: () => ms })
  expect([at(1_999), at(2_000)]).toEqual([1, 2])
})
