// biome-ignore lint/correctness/noUnresolvedImports: its package.json names types that it does not ship
import { createSignerClient, createVerifierClient } from '@slicekit/erc8128'
import {
  bytesToHex,
  hexToBytes,
  parseSignature as parseSignatureText,
  serializeSignature,
  toHex,
  verifyMessage,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { type Address, halfCurveOrder } from '../../lib/codecs.ts'
import { contentDigest, parseSignature, sha256Digest } from '../../lib/http-signature.ts'
import {
  nodeKeyId,
  parseNodeKeyId,
  parseWalletKeyId,
  signedHeaders,
  verifyMac,
  verifyNodeSignature,
  verifyWalletSignature,
  type WalletSigner,
} from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { anAddress } from '../branded.ts'

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const signer: WalletSigner = {
  kind: 'wallet',
  address: account.address.toLowerCase() as Address,
  chainId: 31337,
  signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
}
const body = new TextEncoder().encode('{"a":1}')
const url = new URL('https://icl.test/v1/inference?x=1')
// Of now, at each signature: the independent verifier takes none that is older than a minute.
const moment = () => ({
  created: Math.floor(Date.now() / 1000),
  nonce: new Uint8Array(16).fill(5),
})

const sign = async (by: Parameters<typeof signedHeaders>[1] = signer) =>
  signedHeaders({ method: 'POST', url, headers: new Headers(), body }, by, moment())

describe('wallet signatures', () => {
  it('verify, and name the wallet and its chain', async () => {
    const headers = await sign()
    const parsed = parseSignature({ method: 'POST', url, headers, hasBody: true }, 'eth')!
    expect(parseWalletKeyId(parsed.keyId)).toEqual({ address: signer.address, chainId: 31337 })
    expect(await verifyWalletSignature(signer.address, parsed)).toBe(true)
    expect(await verifyWalletSignature(anAddress(`0x${'2'.repeat(40)}`), parsed)).toBe(false)
  })

  it.each([
    ['method', { method: 'GET' }],
    ['authority', { url: new URL('https://evil.test/v1/inference?x=1') }],
    ['path', { url: new URL('https://icl.test/v1/other?x=1') }],
    ['query', { url: new URL('https://icl.test/v1/inference?x=2') }],
  ])('do not verify for another %s', async (_, change) => {
    const headers = await sign()
    const request = { method: 'POST', url, headers, hasBody: true, ...change }
    expect(await verifyWalletSignature(signer.address, parseSignature(request, 'eth')!)).toBe(false)
  })

  it('verify in one spelling, with the lower s alone', async () => {
    const headers = await sign()
    const parsed = parseSignature({ method: 'POST', url, headers, hasBody: true }, 'eth')!
    const order = 2n * halfCurveOrder + 1n
    const { r, s, yParity } = parseSignatureText(bytesToHex(parsed.signature))
    const other = { r, s: toHex(order - BigInt(s), { size: 32 }), yParity: 1 - yParity }
    const signature = new Uint8Array(hexToBytes(serializeSignature(other)))
    // It is the same wallet's, for who takes both.
    const message = { raw: bytesToHex(parsed.base) }
    const { address } = signer
    expect(await verifyMessage({ address, message, signature })).toBe(true)
    expect(await verifyWalletSignature(address, { ...parsed, signature })).toBe(false)
  })

  it('do not verify for another digest', async () => {
    const headers = await sign()
    headers.set('content-digest', await contentDigest(new TextEncoder().encode('{"a":2}')))
    const parsed = parseSignature({ method: 'POST', url, headers, hasBody: true }, 'eth')!
    expect(await verifyWalletSignature(signer.address, parsed)).toBe(false)
  })

  it('are accepted by an independent ERC-8128 verifier', async () => {
    const request = new Request(url, { method: 'POST', headers: await sign(), body })
    const used = new Set<string>()
    const verifier = createVerifierClient({
      verifyMessage,
      nonceStore: {
        consume: async (key: string) => !used.has(key) && used.add(key).size > 0,
      },
    })
    const result = await verifier.verifyRequest({ request })
    expect(result).toMatchObject({ ok: true, address: signer.address, chainId: 31337 })
    expect((await verifier.verifyRequest({ request })).ok).toBe(false)
  })

  it('of an independent ERC-8128 signer verify here', async () => {
    const client = createSignerClient({
      chainId: 31337,
      address: account.address,
      signMessage: (raw: Uint8Array) => account.signMessage({ message: { raw } }),
    })
    const request: Request = await client.signRequest(url.href, { method: 'POST', body })
    const { headers } = request
    const parsed = parseSignature({ method: 'POST', url, headers, hasBody: true }, 'eth')!
    expect(parsed.components).toEqual(
      expect.arrayContaining(['@authority', '@method', '@path', '@query', 'content-digest']),
    )
    expect(await verifyWalletSignature(signer.address, parsed)).toBe(true)
  })
})

it('node signatures verify with the session key and no other', async () => {
  const key = await signingKeyFromSeed(new Uint8Array(32).fill(1))
  const other = await signingKeyFromSeed(new Uint8Array(32).fill(2))
  const node = { kind: 'node', address: signer.address, key } as const
  const headers = await sign(node)
  const parsed = parseSignature({ method: 'POST', url, headers, hasBody: true }, 'node')!
  expect(parseNodeKeyId(nodeKeyId(node))).toEqual({
    address: signer.address,
    thumbprint: key.thumbprint,
  })
  expect(await verifyNodeSignature(key.publicKey, parsed)).toBe(true)
  expect(await verifyNodeSignature(other.publicKey, parsed)).toBe(false)
})

describe('a MAC of a node', () => {
  it('verifies with the request key and no other, and for the signed request alone', async () => {
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(1))
    const requestKey = new Uint8Array(32).fill(3)
    const node = { kind: 'node', address: signer.address, key, requestKey } as const
    const headers = await sign(node)
    const request = { method: 'POST', url, headers, hasBody: true }
    const parsed = parseSignature(request, 'node')!
    expect([parsed.alg, parsed.keyId]).toEqual(['hmac-sha256', nodeKeyId(node)])
    expect(await verifyMac(requestKey, parsed)).toBe(true)
    expect(await verifyMac(new Uint8Array(32), parsed)).toBe(false)
    expect(await verifyMac(requestKey, { ...parsed, signature: new Uint8Array(0) })).toBe(false)
    expect(await verifyNodeSignature(key.publicKey, parsed)).toBe(false)
    for (const change of [{ method: 'PUT' }, { url: new URL('https://evil.test') }]) {
      const other = parseSignature({ ...request, ...change }, 'node')!
      expect(await verifyMac(requestKey, other)).toBe(false)
    }
  })

  it('verifies as in RFC 9421, B.2.5', async () => {
    const headers = new Headers({
      date: 'Tue, 20 Apr 2021 02:07:55 GMT',
      'content-type': 'application/json',
      'signature-input':
        'sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
      signature: 'sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:',
    })
    const key =
      'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=='
    const at = new URL('https://example.com/foo?param=Value&Pet=dog')
    const request = { method: 'POST', url: at, headers, hasBody: true }
    const bytes = Uint8Array.from(atob(key), (letter) => letter.charCodeAt(0))
    expect(await verifyMac(bytes, parseSignature(request, 'sig-b25')!)).toBe(true)
  })
})

describe('the headers of a signature', () => {
  const parse = (input: string, signature: string) =>
    parseSignature(
      {
        method: 'GET',
        url,
        headers: new Headers({ 'signature-input': input, signature }),
        hasBody: false,
      },
      'node',
    )
  const bytes = `:${'A'.repeat(86)}==:`
  const list = '("@authority" "@method")'

  it('say the same in whatever spelling they come', () => {
    const usual = [
      `created=1;keyid="a b"`,
      `created=1;expires=2;keyid=""`,
      `created=1;expires=2;nonce="n";keyid="k"`,
      `created=1;keyid="k";alg="hmac-sha256"`,
    ]
    for (const params of usual) {
      const read = parse(`node=${list};${params}`, `node=${bytes}`)
      expect(read?.components).toEqual(['@authority', '@method'])
      expect(read).toEqual(
        parse(`node=( "@authority"  "@method" ); ${params}`, `other=:AA==:, node=${bytes}`),
      )
    }
  })

  it('may say more, or in another order, and all of it is what was signed', () => {
    const params = 'keyid="k\\"";created=1;alg="ed25519"'
    const read = parse(`node=${list};${params}`, `node=${bytes}`)
    expect(read?.keyId).toBe('k"')
    expect(new TextDecoder().decode(read?.base)).toContain(`${list};${params}`)
  })

  it('are refused with a component twice, and are none under another name', () => {
    const twice = 'node=("@method" "@method");created=1;keyid="k"'
    expect(() => parse(twice, `node=${bytes}`)).toThrow('repeated')
    expect(parse(`eth=${list};created=1;keyid="k"`, `eth=${bytes}`)).toBeUndefined()
    expect(parse(`node=${list};created=1;keyid="k"`, `eth=${bytes}`)).toBeUndefined()
  })
})

it('the digest of a body is found beside digests of other algorithms, in whatever order', async () => {
  const own = await contentDigest(body)
  for (const header of [own, `${own}, sha-512=:YQ==:`, `sha-512=:YQ==:,${own}`]) {
    expect(sha256Digest(header)).toBe(own)
  }
  for (const header of ['', 'sha-512=:YQ==:', own.slice(0, -2), `x${own}`]) {
    expect(sha256Digest(header)).toBeUndefined()
  }
})
