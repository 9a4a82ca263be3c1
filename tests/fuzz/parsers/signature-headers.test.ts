import fc from 'fast-check'
import { afterAll, describe, expect } from 'vitest'
import { authenticate } from '../../../icl/http/authenticate.ts'
import { parseSignature, requiredComponents } from '../../../lib/http-signature.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { parseNodeKeyId, parseWalletKeyId, signedHeaders } from '../../../lib/request-signature.ts'
import { createTestIcl, origin, walletOf } from '../../icl/test-icl.ts'
import { forAll, itHolds } from './runs.ts'

const icl = await createTestIcl()
afterAll(() => icl.stop())

const headerText = fc.oneof(
  fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '?')),
  fc
    .array(
      fc.constantFrom(
        'eth',
        'node',
        '=',
        '(',
        ')',
        '"@method"',
        '"@path"',
        '"@authority"',
        '"content-digest"',
        ';',
        'created',
        '=1800000000',
        'keyid',
        '="erc8128:31337:0x',
        '0'.repeat(40),
        '"',
        ':',
        'AAAA',
        '?1',
        ' ',
        ',',
        '1.5',
        '-',
        '@1',
        '*',
        'nonce="a"',
        'expires=1',
        '%"e2"',
      ),
      { maxLength: 16 },
    )
    .map((parts) => parts.join('')),
)
const url = new URL('https://icl.test/v1/inference?a=1')

describe('signature headers', () => {
  itHolds('of any text are refused with a problem, never with another error', () =>
    forAll(400, headerText, headerText, fc.boolean(), async (input, signature, isNode) => {
      const headers = new Headers({ 'signature-input': input, signature })
      const request = {
        method: 'GET',
        url,
        headers,
        body: async () => new Uint8Array(),
        jobId: undefined,
      }
      const refused = await authenticate(icl.deps, isNode ? 'node' : 'wallet', request).catch(
        (error: unknown) => error,
      )
      expect(refused).toBeInstanceOf(ProblemError)
    }),
  )

  itHolds('that were made here are read as they were made', () =>
    forAll(
      60,
      fc.webPath(),
      fc.uint8Array({ maxLength: 50 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.integer({ min: 0, max: 4_000_000_000 }),
      async (path, body, nonce, created) => {
        const asked = new URL(origin)
        asked.pathname = path
        const bytes = new Uint8Array(body)
        const { signer } = walletOf('client')
        const request = { method: 'POST', url: asked, headers: new Headers(), body: bytes }
        const headers = await signedHeaders(request, signer, { created, nonce })
        const signable = { ...request, headers, hasBody: bytes.length > 0 }
        const parsed = parseSignature(signable, 'eth')
        expect(parsed?.components).toEqual(requiredComponents(signable))
        expect([parsed?.created, parsed?.expires]).toEqual([created, created + 60])
      },
    ),
  )

  itHolds('name a key, or none', () =>
    forAll(500, fc.string({ maxLength: 120 }), (text) => {
      expect(parseWalletKeyId(text)).toBeUndefined()
      expect(parseNodeKeyId(text)).toBeUndefined()
    }),
  )
})
