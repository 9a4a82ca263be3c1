import 'reflect-metadata'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { type Certificate, readCertificate } from '../../../icl/attestation/x509.ts'
import { toBase64Url } from '../../../lib/digest.ts'

const year = 365 * 24 * 3_600_000
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const rsaOaep = {
  name: 'RSA-OAEP',
  hash: 'SHA-256',
  publicExponent: Uint8Array.of(1, 0, 1),
  modulusLength: 2_048,
} as const

/** A certificate with the key that it certifies. */
type Certified = { readonly certificate: X509Certificate; readonly keys: CryptoKeyPair }

/** How a certificate differs from a sound one; times in milliseconds. */
export type Flaws = {
  readonly notBefore?: number
  readonly notAfter?: number
  readonly ca?: boolean
  readonly pathLength?: number
  readonly maySignCertificates?: boolean
  readonly extendedUsage?: string
  readonly criticalExtension?: string
  readonly hash?: string
}

/** A vendor of TPMs for tests: a root and an issuer below it. */
export type Vendor = { readonly root: Certified; readonly issuer: Certified }

/** A vendor whose certificates are valid around `now`. */
export async function createVendor(now: number, flaws: { issuer?: Flaws; root?: Flaws } = {}) {
  const root = await certify(now, 'CN=Test TPM Root', undefined, flaws.root)
  const issuer = await certify(now, 'CN=Test TPM Issuer', root, flaws.issuer)
  return { root, issuer }
}

/** A CA below another one, or a root. */
export async function certify(
  now: number,
  subject: string,
  parent: Certified | undefined,
  flaws: Flaws = {},
): Promise<Certified> {
  const keys = await crypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.create({
    serialNumber: '01',
    subject,
    issuer: parent?.certificate.subject ?? subject,
    notBefore: new Date(flaws.notBefore ?? now - year),
    notAfter: new Date(flaws.notAfter ?? now + year),
    publicKey: keys.publicKey,
    signingKey: parent?.keys.privateKey ?? keys.privateKey,
    signingAlgorithm: { ...ecdsa, hash: flaws.hash ?? 'SHA-256' },
    extensions: [
      new BasicConstraintsExtension(flaws.ca ?? true, flaws.pathLength, true),
      new KeyUsagesExtension(
        flaws.maySignCertificates === false
          ? KeyUsageFlags.digitalSignature
          : KeyUsageFlags.keyCertSign,
        true,
      ),
      ...unknownExtension(flaws),
    ],
  })
  return { certificate, keys }
}

const unknownExtension = ({ criticalExtension }: Flaws) =>
  criticalExtension ? [new Extension(criticalExtension, true, Uint8Array.of(5, 0))] : []

// Such a key takes tenths of a second to make: the keys of earlier TPMs serve again, after more of them than a test has.
const madeKeys: CryptoKeyPair[] = []
const mostKeys = 8
let taken = 0

async function nextKey(): Promise<CryptoKeyPair> {
  const at = taken++ % mostKeys
  madeKeys[at] ??= await crypto.subtle.generateKey(rsaOaep, true, ['encrypt', 'decrypt'])
  return madeKeys[at]
}

/** An endorsement key of a vendor: RSA-2048 unless another key is given, certified with the TCG's extensions. */
export async function certifyEndorsementKey(
  { issuer }: Pick<Vendor, 'issuer'>,
  now: number,
  flaws: Flaws = {},
  key?: CryptoKeyPair,
): Promise<Certified & { readonly der: string }> {
  const keys = key ?? (await nextKey())
  const directory = '2.23.133.2.1=id:53574654+2.23.133.2.2=soft+2.23.133.2.3=id:00010000'
  const certificate = await X509CertificateGenerator.create({
    serialNumber: '02',
    issuer: issuer.certificate.subject,
    notBefore: new Date(flaws.notBefore ?? now - year),
    notAfter: new Date(flaws.notAfter ?? 253_402_300_799_000),
    publicKey: keys.publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: { ...ecdsa, hash: flaws.hash ?? 'SHA-256' },
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dn', value: directory }], true),
      new BasicConstraintsExtension(flaws.ca ?? false, undefined, true),
      new ExtendedKeyUsageExtension([flaws.extendedUsage ?? '2.23.133.8.1']),
      new KeyUsagesExtension(KeyUsageFlags.keyEncipherment, true),
      ...unknownExtension(flaws),
    ],
  })
  return { certificate, keys, der: derOf(certificate) }
}

/** A certificate as it crosses the wire. */
export const derOf = (certificate: X509Certificate): string =>
  toBase64Url(new Uint8Array(certificate.rawData))

/** A certificate as the service reads it. */
export function certificateOf({ certificate }: Pick<Certified, 'certificate'>): Certificate {
  const read = readCertificate(new Uint8Array(certificate.rawData))
  if (!read) throw new TypeError('The certificate cannot be read')
  return read
}
