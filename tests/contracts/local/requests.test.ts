import { zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  DecryptRequest,
  KeyRequest,
  parseRequest,
  VerifyRequest,
} from '../../../contracts/local/coprocessor/requests.ts'

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const refusal = (why: RegExp) =>
  expect.objectContaining({ status: 400, code: 'bad_request', message: expect.stringMatching(why) })

const verify = {
  packed_list: 'ab12',
  account_addr: '0x6E12D8C87503D4287c294f2Fdef96ACd9DFf6bd2',
  security_zone: 0,
  chain_id: 420_105,
}
const permit = {
  issuer: zeroAddress,
  expiration: 1_900_000_000,
  recipient: zeroAddress,
  validatorId: 0,
  validatorContract: zeroAddress,
  sealingKey: `0x${'12'.repeat(32)}`,
  issuerSignature: `0x${'ab'.repeat(65)}`,
  recipientSignature: '0x',
}
const decrypt = { ct_tempkey: 'f'.repeat(64), host_chain_id: 420_105, permit }

describe('a request', () => {
  it('is taken as the SDK sends it', () => {
    expect(parseRequest(KeyRequest, bytesOf({ securityZone: 0 }))).toEqual({ securityZone: 0 })
    expect(parseRequest(VerifyRequest, bytesOf(verify))).toEqual({
      ...verify,
      account_addr: verify.account_addr.toLowerCase(),
    })
    expect(parseRequest(DecryptRequest, bytesOf(decrypt))).toMatchObject({
      ct_tempkey: 2n ** 256n - 1n,
      permit: { expiration: 1_900_000_000n, validatorId: 0n },
    })
  })

  for (const [what, schema, body, why] of [
    ['no JSON', KeyRequest, undefined, /not JSON/],
    ['another zone', KeyRequest, { securityZone: 1 }, /securityZone: only security zone 0/],
    ['half a byte', VerifyRequest, { ...verify, packed_list: 'abc' }, /packed_list: must be hex/],
    ['a prefix', VerifyRequest, { ...verify, packed_list: '0xab' }, /packed_list: must be hex/],
    [
      'too long a list',
      VerifyRequest,
      { ...verify, packed_list: 'ab'.repeat(300_000) },
      /packed_list/,
    ],
    ['no address', VerifyRequest, { ...verify, account_addr: '0x12' }, /account_addr/],
    ['a chain that is no number', VerifyRequest, { ...verify, chain_id: '1' }, /chain_id/],
    [
      'too large a handle',
      DecryptRequest,
      { ...decrypt, ct_tempkey: 'f'.repeat(65) },
      /ct_tempkey/,
    ],
    ['no permit', DecryptRequest, { ...decrypt, permit: null }, /permit/],
    [
      'a time before 1970',
      DecryptRequest,
      { ...decrypt, permit: { ...permit, expiration: -1 } },
      /expiration/,
    ],
    [
      'a time after all times',
      DecryptRequest,
      { ...decrypt, permit: { ...permit, expiration: '18446744073709551616' } },
      /expiration/,
    ],
    [
      'a long signature',
      DecryptRequest,
      { ...decrypt, permit: { ...permit, issuerSignature: `0x${'00'.repeat(1025)}` } },
      /issuerSignature/,
    ],
  ] as const) {
    it(`is refused for ${what}, without being repeated`, () => {
      const bytes = body === undefined ? new Uint8Array([0xff, 0xfe]) : bytesOf(body)
      let thrown: unknown
      try {
        parseRequest(schema, bytes)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toEqual(refusal(why))
      expect(String(thrown).length).toBeLessThan(200)
    })
  }
})
