import { describe, expect, it } from 'vitest'
import { checkEndorsementKey } from '../../../icl/attestation/endorsement-key.ts'
import { readPemCertificates } from '../../../icl/attestation/x509.ts'
import { codeOf } from '../../code-of.ts'
import { trustIn } from './tpm-node.ts'
import {
  certificateOf,
  certify,
  certifyEndorsementKey,
  createVendor,
  derOf,
  type Flaws,
  type Vendor,
} from './tpm-vendor.ts'

const now = Date.UTC(2026, 0, 1)
const day = 24 * 3_600_000
const vendor = await createVendor(now)
const keys = (await certifyEndorsementKey(vendor, now)).keys

/** What becomes of an endorsement key's certificate with its chain. */
async function check(options: {
  vendor?: Vendor
  leaf?: Flaws
  key?: CryptoKeyPair
  chain?: readonly string[]
  at?: number
}) {
  const by = options.vendor ?? vendor
  const { der } = await certifyEndorsementKey(by, now, options.leaf, options.key ?? keys)
  const chain = options.chain ?? [derOf(by.issuer.certificate)]
  return checkEndorsementKey(trustIn(by), der, chain, options.at ?? now)
}

type Flaw = readonly [what: string, code: string, run: () => ReturnType<typeof check>]
const flaw = (...row: Flaw): Flaw => row

describe('the certificate of an endorsement key', () => {
  it('is accepted when it leads to a trusted root, and names the TPM', async () => {
    const first = await check({})
    expect(first).toMatchObject({ model: { manufacturer: 'SWFT', model: 'soft' } })
    expect(first.validUntil).toBe(vendor.issuer.certificate.notAfter.getTime())
    // The key is the identity, not the certificate that shows it.
    const again = await check({ leaf: { notBefore: now - day } })
    expect(again.hash).toBe(first.hash)
  })

  it.each<Flaw>([
    flaw('ended', 'ek-chain-expired', () => check({ leaf: { notAfter: now - 1_000 } })),
    flaw('has not begun', 'ek-chain-expired', () => check({ leaf: { notBefore: now + day } })),
    flaw('is a CA', 'ek-purpose-wrong', () => check({ leaf: { ca: true } })),
    flaw('is for something else', 'ek-purpose-wrong', () =>
      check({ leaf: { extendedUsage: '1.3.6.1.5.5.7.3.1' } }),
    ),
    flaw('has an unknown critical extension', 'ek-chain-invalid', () =>
      check({ leaf: { criticalExtension: '1.2.3.4' } }),
    ),
    flaw('was signed with SHA-1', 'ek-chain-untrusted', () => check({ leaf: { hash: 'SHA-1' } })),
    flaw('is for an RSA key of 3072 bits', 'ek-profile-refused', async () => {
      const long = { ...rsa, modulusLength: 3_072 }
      return check({ key: await crypto.subtle.generateKey(long, true, ['encrypt', 'decrypt']) })
    }),
    flaw('is for another exponent', 'ek-profile-refused', async () => {
      const three = { ...rsa, publicExponent: Uint8Array.of(3) }
      return check({ key: await crypto.subtle.generateKey(three, true, ['encrypt', 'decrypt']) })
    }),
    flaw('is for a P-256 key', 'ek-profile-refused', async () => {
      const curve = { name: 'ECDH', namedCurve: 'P-256' }
      return check({ key: await crypto.subtle.generateKey(curve, true, ['deriveBits']) })
    }),
  ])('is refused when it %s: %s', async (_, code, run) => {
    expect(await codeOf(run())).toBe(code)
  })

  it.each<readonly [string, string, () => ReturnType<typeof check>]>([
    flaw('ended', 'ek-chain-expired', () => flawed({ notAfter: now - 1_000 })),
    flaw('is no CA', 'ek-chain-invalid', () => flawed({ ca: false })),
    flaw('may not sign certificates', 'ek-chain-invalid', () =>
      flawed({ maySignCertificates: false }),
    ),
    flaw('has an unknown critical extension', 'ek-chain-invalid', () =>
      flawed({ criticalExtension: '1.2.3.4' }),
    ),
    flaw('has too many issuers below it', 'ek-chain-invalid', async () =>
      check({ vendor: await createVendor(now, { root: { pathLength: 0 } }) }),
    ),
    flaw('has another key than the one that signed', 'ek-chain-untrusted', async () => {
      const twin = await certify(now, 'CN=Test TPM Issuer', vendor.root)
      return check({ chain: [derOf(twin.certificate)] })
    }),
    flaw('is further away than eight certificates', 'ek-chain-invalid', () => checkBelow(7)),
  ])('is refused when its issuer %s: %s', async (_, code, run) => {
    expect(await codeOf(run())).toBe(code)
  })

  it('ends with its issuer', async () => {
    const { validUntil } = await check({})
    expect(await codeOf(check({ at: validUntil + 1 }))).toBe('ek-chain-expired')
  })

  it('may have five issuers below the root, as the firmware TPMs of Intel have', async () => {
    expect(await checkBelow(5)).toMatchObject({ model: { model: 'soft' } })
  })

  it('may lead straight to an issuer that the operator trusts', async () => {
    const { der } = await certifyEndorsementKey(vendor, now, {}, keys)
    const trust = trustIn(vendor, { roots: [certificateOf(vendor.issuer)] })
    expect(await checkEndorsementKey(trust, der, [], now)).toMatchObject({
      model: { model: 'soft' },
    })
  })
})

const rsa = {
  name: 'RSA-OAEP',
  hash: 'SHA-256',
  publicExponent: Uint8Array.of(1, 0, 1),
  modulusLength: 2_048,
} as const

/** What becomes of a certificate with so many issuers below the root. */
async function checkBelow(issuers: number) {
  const chain = [await certify(now, 'CN=1', vendor.root)]
  while (chain.length < issuers) {
    chain.push(await certify(now, `CN=${chain.length + 1}`, chain.at(-1)))
  }
  const deep = { root: vendor.root, issuer: chain.at(-1)! }
  return check({ vendor: deep, chain: chain.map(({ certificate }) => derOf(certificate)) })
}

const flawed = async (issuer: Flaws) => check({ vendor: await createVendor(now, { issuer }) })

it('roots are read from PEM, several in one text', () => {
  const pem = [vendor.root, vendor.issuer].map(({ certificate }) => certificate.toString('pem'))
  expect(readPemCertificates(`# vendor\n${pem.join('\n')}`)).toHaveLength(2)
  expect(readPemCertificates('nothing')).toEqual([])
  const broken = pem[0]!.replace(/\n[A-Za-z0-9+/]{20}/, '\n')
  expect(() => readPemCertificates(broken)).toThrow('certificate 1 cannot be read')
})
