import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deriveKeys, isReadToken, readTokenOf } from '../../../icl/records/icl-keys.ts'
import { tpmOfCertificate } from '../../../node/attestation/certificate-claims.ts'
import { expectUnpolluted, hostileJson, patience, runs } from './runs.ts'

const keys = await deriveKeys(new Uint8Array(32).fill(1))
const jobId = `0x${'ab'.repeat(32)}`
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('tokens', () => {
  it(
    'of any text read no job',
    async () => {
      const token = await readTokenOf(keys, jobId)
      const near = fc
        .tuple(fc.nat(42), fc.constantFrom(...'AZaz09-_'))
        .map(([at, letter]) => token.slice(0, at) + letter + token.slice(at + 1))
      await fc.assert(
        fc.asyncProperty(fc.oneof(fc.string(), near), async (text) => {
          expect(await isReadToken(keys, jobId, text)).toBe(text === token)
        }),
        runs(200),
      )
    },
    patience,
  )

  it(
    'of any text open nothing, also where they look like sealed ones',
    async () => {
      const like = fc
        .tuple(hostileJson, fc.uint8Array({ maxLength: 40 }))
        .map(([header, bytes]) => {
          const part = Buffer.from(bytes).toString('base64url')
          return `${base64(header)}..${part}.${part}.${part}`
        })
      await fc.assert(
        fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), like), async (text) => {
          expect(await keys.openToken('svc-webhook', text)).toBeUndefined()
        }),
        runs(200),
      )
    },
    patience,
  )

  it(
    'sealed for one purpose open for no other',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.jsonValue(), async (content) => {
          const token = await keys.sealToken('one', content)
          expect(await keys.openToken('one', token)).toEqual(JSON.parse(JSON.stringify(content)))
          expect(await keys.openToken('other', token)).toBeUndefined()
        }),
        runs(60),
      )
    },
    patience,
  )
})

it(
  'certificates of any text name no TPM, and never fail',
  () => {
    const like = fc
      .tuple(hostileJson, hostileJson)
      .map(([header, claims]) => `${base64(header)}.${base64({ att: claims })}.AAAA`)
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), like), (text) => {
        expect(tpmOfCertificate(text)).toBeUndefined()
      }),
      runs(300),
    )
    expectUnpolluted()
  },
  patience,
)
