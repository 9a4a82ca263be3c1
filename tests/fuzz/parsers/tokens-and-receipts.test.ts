import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { deriveKeys, isReadToken, readTokenOf } from '../../../icl/records/icl-keys.ts'
import { tpmOfCertificate } from '../../../node/attestation/certificate-claims.ts'
import { expectUnpolluted, forAll, hostileJson, itHolds } from './runs.ts'

const keys = await deriveKeys(new Uint8Array(32).fill(1))
const jobId = `0x${'ab'.repeat(32)}`
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('tokens', () => {
  itHolds('of any text read no job', async () => {
    const token = await readTokenOf(keys, jobId)
    const near = fc
      .tuple(fc.nat(42), fc.constantFrom(...'AZaz09-_'))
      .map(([at, letter]) => token.slice(0, at) + letter + token.slice(at + 1))
    await forAll(200, fc.oneof(fc.string(), near), async (text) => {
      expect(await isReadToken(keys, jobId, text)).toBe(text === token)
    })
  })

  itHolds('of any text open nothing, also where they look like sealed ones', async () => {
    const like = fc.tuple(hostileJson, fc.uint8Array({ maxLength: 40 })).map(([header, bytes]) => {
      const part = Buffer.from(bytes).toString('base64url')
      return `${base64(header)}..${part}.${part}.${part}`
    })
    await forAll(200, fc.oneof(fc.string({ unit: 'binary' }), like), async (text) => {
      expect(await keys.openToken('svc-webhook', text)).toBeUndefined()
    })
  })

  itHolds('sealed for one purpose open for no other', () =>
    forAll(60, fc.jsonValue(), async (content) => {
      const token = await keys.sealToken('one', content)
      expect(await keys.openToken('one', token)).toEqual(JSON.parse(JSON.stringify(content)))
      expect(await keys.openToken('other', token)).toBeUndefined()
    }),
  )
})

itHolds('certificates of any text name no TPM, and never fail', async () => {
  const like = fc
    .tuple(hostileJson, hostileJson)
    .map(([header, claims]) => `${base64(header)}.${base64({ att: claims })}.AAAA`)
  await forAll(300, fc.oneof(fc.string({ unit: 'binary' }), like), (text) => {
    expect(tpmOfCertificate(text)).toBeUndefined()
  })
  expectUnpolluted()
})
