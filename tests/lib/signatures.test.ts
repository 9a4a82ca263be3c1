import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import type { Address } from '../../lib/codecs.ts'
import { fromBase64Url, utf8 } from '../../lib/digest.ts'
import {
  contentDigest,
  parseSignature,
  requiredComponents,
  type SignableRequest,
  signatureInput,
} from '../../lib/http-signature.ts'
import {
  parseNodeKeyId,
  parseWalletKeyId,
  signedHeaders,
  verifyNodeSignature,
  verifyWalletSignature,
} from '../../lib/request-signature.ts'
import { sessionTypedData, verifySession } from '../../lib/session-grant.ts'
import { signingKeyFromSeed, thumbprintOf, verifySignature } from '../../lib/session-key.ts'
import { fromHex, toHex } from '../../lib/tpm/hex.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const key = await signingKeyFromSeed(new Uint8Array(32).fill(1))
const node = { kind: 'node', address: nodeAddress('a'), key } as const
const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const address = account.address.toLowerCase() as Address
const wallet = {
  kind: 'wallet',
  address,
  chainId: 5,
  signMessage: ({ raw }: { raw: `0x${string}` }) => account.signMessage({ message: { raw } }),
} as const
const moment = { created: 1_700_000_000, nonce: new Uint8Array(16).fill(5) }
const url = new URL('https://icl.test:8443/v1/x?a=1')

const requestOf = (changes: Partial<SignableRequest> = {}): SignableRequest => ({
  ...{ method: 'post', url, headers: new Headers(), hasBody: false },
  ...changes,
})
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe('the bytes that are signed', () => {
  it('are RFC 9421’s, for whom, what and which body', async () => {
    const headers = new Headers({ 'content-digest': await contentDigest(utf8('{}')) })
    const { input, base } = signatureInput(requestOf({ headers, hasBody: true }), {
      ...{ created: 1, expires: 2, nonce: 'n', keyid: 'k' },
    })
    const digest = 'sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:'
    expect(input).toBe(
      '("@authority" "@method" "@path" "@query" "content-digest");created=1;expires=2;nonce="n";keyid="k"',
    )
    expect(text(base)).toBe(
      [
        '"@authority": icl.test:8443',
        '"@method": POST',
        '"@path": /v1/x',
        '"@query": ?a=1',
        `"content-digest": ${digest}`,
        `"@signature-params": ${input}`,
      ].join('\n'),
    )
  })

  it('name a query and a body only where there is one', () => {
    const bare = requestOf({ url: new URL('https://icl.test/v1/x') })
    expect(requiredComponents(bare)).toEqual(['@authority', '@method', '@path'])
    expect(requiredComponents(requestOf())).toContain('@query')
    expect(requiredComponents(requestOf())).not.toContain('content-digest')
    expect(() => signatureInput(requestOf({ hasBody: true }), { created: 1, keyid: 'k' })).toThrow(
      'Signed header content-digest is missing',
    )
  })

  it('have the headers that a signer names, in one spelling', () => {
    const input = '("x-one" "@query");created=1;keyid="k"'
    const headers = new Headers({
      'signature-input': `eth=${input}`,
      signature: 'eth=:AA==:',
      'x-one': 'a \t  b',
    })
    const bare = requestOf({ url: new URL('https://icl.test/v1/x'), headers })
    const parsed = parseSignature(bare, 'eth')!
    expect(text(parsed.base)).toBe(`"x-one": a b\n"@query": ?\n"@signature-params": ${input}`)
    expect(parsed).toMatchObject({
      ...{ components: ['x-one', '@query'], keyId: 'k', created: 1 },
      ...{ expires: undefined, nonce: undefined, signature: Uint8Array.of(0) },
    })
  })
})

describe('signature headers', () => {
  const parse = (input: string, signature = 'eth=:AA==:') =>
    parseSignature(
      requestOf({ headers: new Headers({ 'signature-input': input, signature }) }),
      'eth',
    )
  it.each<[string, string, string | undefined]>([
    ['Signature headers are not those', 'eth="x";created=1;keyid="k"', undefined],
    ['Signature headers are not those', 'eth=("@path");created=1;keyid="k"', 'eth="AA"'],
    ['Component parameters are not', 'eth=("@path";req);created=1;keyid="k"', undefined],
    ['Component parameters are not', 'eth=(path);created=1;keyid="k"', undefined],
    ['keyid and created are required', 'eth=("@path");created=1', undefined],
    ['keyid and created are required', 'eth=("@path");keyid="k"', undefined],
    ['keyid and created are required', 'eth=("@path");created=1;keyid=k', undefined],
    ['keyid and created are required', 'eth=("@path");created="1";keyid="k"', undefined],
    ['expires must be a time', 'eth=("@path");created=1;keyid="k";expires="2"', undefined],
    ['nonce must be a text', 'eth=("@path");created=1;keyid="k";nonce=2', undefined],
    ['A component is repeated', 'eth=("@path" "@path");created=1;keyid="k"', undefined],
    ['Component @status is not', 'eth=("@status");created=1;keyid="k"', undefined],
    ['Component x-One is not', 'eth=("x-One");created=1;keyid="k"', undefined],
    ['Component one! is not', 'eth=("one!");created=1;keyid="k"', undefined],
    ['Signed header x-none is', 'eth=("x-none");created=1;keyid="k"', undefined],
  ])('are refused: %s (%s)', (message, input, signature) => {
    expect(() => parse(input, signature)).toThrow(message)
  })

  it('are of one label only, and need both parts', () => {
    const input = '("@path");created=1;expires=9;nonce="n";keyid="k"'
    expect(parse(`eth=${input}`)).toMatchObject({ expires: 9, nonce: 'n' })
    expect(parse(`node=${input}`)).toBeUndefined()
    expect(parse(`eth=${input}`, 'node=:AA==:')).toBeUndefined()
    for (const headers of [{ 'signature-input': `eth=${input}` }, { signature: 'eth=:AA==:' }]) {
      expect(parseSignature(requestOf({ headers: new Headers(headers) }), 'eth')).toBeUndefined()
    }
  })
})

describe('signed headers', () => {
  const sign = (signer: Parameters<typeof signedHeaders>[1], body?: Uint8Array<ArrayBuffer>) => {
    const headers = new Headers({ 'x-own': 'kept' })
    return signedHeaders({ method: 'POST', url, headers, body }, signer, moment)
  }

  it('of a wallet may be used for a minute, once', async () => {
    const headers = await sign(wallet, utf8('{}'))
    expect(headers.get('x-own')).toBe('kept')
    expect(headers.get('content-digest')).toBe(await contentDigest(utf8('{}')))
    expect(headers.get('signature-input')).toBe(
      'eth=("@authority" "@method" "@path" "@query" "content-digest");created=1700000000;' +
        `expires=1700000060;nonce="BQUFBQUFBQUFBQUFBQUFBQ";keyid="erc8128:5:${address}"`,
    )
    const parsed = parseSignature(requestOf({ method: 'POST', headers, hasBody: true }), 'eth')!
    expect(parsed.signature).toHaveLength(65)
    expect(await verifyWalletSignature(address, parsed)).toBe(true)
    const short = { ...parsed, signature: Uint8Array.of(1) }
    expect(await verifyWalletSignature(address, short)).toBe(false)
  })

  it('of a node have neither an end nor a nonce', async () => {
    const headers = await sign(node)
    expect(headers.get('signature-input')).toBe(
      'node=("@authority" "@method" "@path" "@query");created=1700000000;' +
        `keyid="svc-node:${node.address}:${key.thumbprint}"`,
    )
    const parsed = parseSignature(requestOf({ headers }), 'node')!
    expect(await verifyNodeSignature(key.publicKey, parsed)).toBe(true)
    expect(await verifyNodeSignature('none', parsed)).toBe(false)
  })

  it('of no body, or of an empty one, have no digest', async () => {
    expect((await sign(node)).has('content-digest')).toBe(false)
    const empty = await sign(node, new Uint8Array())
    expect(empty.has('content-digest')).toBe(false)
    expect(empty.get('signature-input')).not.toContain('content-digest')
  })
})

describe('the id of a key', () => {
  const hex = 'aB'.repeat(20)
  it.each([
    [`erc8128:5:0x${hex}`, { chainId: 5, address: `0x${hex.toLowerCase()}` }],
    [`erc8128:1234567890123456:0x${hex}`, { chainId: 1_234_567_890_123_456 }],
    [`erc8128:12345678901234567:0x${hex}`, undefined],
    [`erc8128:0:0x${hex}`, undefined],
    [`erc8128:05:0x${hex}`, undefined],
    [`erc8128:5:0x${hex}0`, undefined],
    [`erc8128:5:0x${hex.slice(1)}`, undefined],
    [`xerc8128:5:0x${hex}`, undefined],
    ['', undefined],
  ])('of a wallet: %s', (keyId, parsed) => {
    if (parsed === undefined) expect(parseWalletKeyId(keyId)).toBeUndefined()
    else expect(parseWalletKeyId(keyId)).toMatchObject(parsed)
  })

  const low = 'ab'.repeat(20)
  const print = `${'A-_z'.repeat(10)}abc`
  it.each([
    [`svc-node:0x${low}:${print}`, { address: `0x${low}`, thumbprint: print }],
    [`svc-node:0x${hex}:${print}`, undefined],
    [`svc-node:0x${low}0:${print}`, undefined],
    [`svc-node:0x${low}:${print}A`, undefined],
    [`svc-node:0x${low}:${print.slice(1)}`, undefined],
    [`svc-node:0x${low}:${print.slice(1)}+`, undefined],
    [`xsvc-node:0x${low}:${print}`, undefined],
    ['', undefined],
  ])('of a node: %s', (keyId, parsed) => {
    expect(parseNodeKeyId(keyId)).toEqual(parsed)
  })
})

describe('a session key', () => {
  it('is RFC 8032’s of its seed, and has RFC 7638’s thumbprint', async () => {
    // RFC 8032, 7.1, test 1; RFC 8037, A.3.
    const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
    const known = await signingKeyFromSeed(fromHex(seed))
    expect(known.publicKey).toBe('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo')
    expect(known.thumbprint).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
    expect(await thumbprintOf(known.publicKey)).toBe(known.thumbprint)
    expect(toHex(fromBase64Url(await known.sign(new Uint8Array())))).toBe(
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    )
  })

  it('has signed nothing that another key, another text or no signature shows', async () => {
    const signature = await key.sign(utf8('text'))
    const other = await signingKeyFromSeed(new Uint8Array(32).fill(2))
    expect(await verifySignature(key.publicKey, signature, utf8('text'))).toBe(true)
    expect(await verifySignature(key.publicKey, signature, utf8('other'))).toBe(false)
    expect(await verifySignature(other.publicKey, signature, utf8('text'))).toBe(false)
    expect(await verifySignature('no key!', signature, utf8('text'))).toBe(false)
    expect(await verifySignature(key.publicKey, 'AA', utf8('text'))).toBe(false)
  })
})

describe('a session', () => {
  const session = {
    ...{ address, key: key.publicKey, iclOrigin: 'https://icl.test' },
    ...{ chainId: 5, notAfter: 1_700_000_000 },
  }

  it('is EIP-712 data of its own', () => {
    expect(sessionTypedData(session)).toMatchObject({
      domain: { name: 'svc-session', version: '1', chainId: 5 },
      primaryType: 'Session',
      message: { address, chainId: 5n, notAfter: 1_700_000_000n, iclOrigin: 'https://icl.test' },
    })
    expect(sessionTypedData(session).message.key).toBe(`0x${toHex(fromBase64Url(key.publicKey))}`)
  })

  it('is granted by its wallet, as it is and no other', async () => {
    const signature = await account.signTypedData(sessionTypedData(session))
    expect(await verifySession(session, signature)).toBe(true)
    const others = [
      { address: nodeAddress('a') },
      { key: 'A'.repeat(43) },
      { iclOrigin: 'https://other.test' },
      { chainId: 6 },
      { notAfter: 1_700_000_001 },
    ]
    // A refusal is not remembered as a grant.
    for (const change of [...others, ...others]) {
      expect(await verifySession({ ...session, ...change }, signature)).toBe(false)
    }
    expect(await verifySession(session, '0x12')).toBe(false)
  })
})
