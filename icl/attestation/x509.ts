// @peculiar/x509 needs this import before its own.
import 'reflect-metadata'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PublicKey,
  SubjectAlternativeNameExtension,
  X509Certificate,
} from '@peculiar/x509'

type Bytes = Uint8Array<ArrayBuffer>

/** The contents of a certificate, not verified; times in milliseconds. */
export type Certificate = {
  readonly der: Bytes
  readonly subject: string
  readonly issuer: string
  readonly notBefore: number
  readonly notAfter: number
  readonly isCa: boolean
  /** How many issuers may be below it; any number when undefined. */
  readonly pathLength: number | undefined
  readonly maySignCertificates: boolean
  /** OIDs. */
  readonly extendedUsages: readonly string[]
  /** OIDs of the critical extensions. */
  readonly criticalExtensions: readonly string[]
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Bytes
  /** Returns a field of the directory name in subjectAltName, by OID; empty when there is none. */
  readonly directoryField: (oid: string) => string
  /** True when the key signed the certificate with a hash other than SHA-1 or MD5. */
  readonly isSignedBy: (publicKey: Bytes) => Promise<boolean>
}

/** Reads a certificate (DER). Undefined when it cannot be read. */
export function readCertificate(der: Uint8Array): Certificate | undefined {
  try {
    return contentOf(new X509Certificate(trimmed(der)))
  } catch {
    return undefined
  }
}

/** Reads all certificates of a PEM text, in order. Throws TypeError that names the first one that cannot be read. */
export function readPemCertificates(text: string): readonly Certificate[] {
  const blocks = [
    ...text.matchAll(/-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/g),
  ]
  return blocks.map(([, base64 = ''], index) => {
    const certificate = readCertificate(fromBase64(base64))
    if (!certificate) throw new TypeError(`certificate ${index + 1} cannot be read`)
    return certificate
  })
}

function contentOf(certificate: X509Certificate): Certificate {
  const constraints = certificate.getExtension(BasicConstraintsExtension)
  const usages = certificate.getExtension(KeyUsagesExtension)
  return {
    der: new Uint8Array(certificate.rawData),
    subject: certificate.subject,
    issuer: certificate.issuer,
    notBefore: certificate.notBefore.getTime(),
    notAfter: certificate.notAfter.getTime(),
    isCa: constraints?.ca === true,
    pathLength: constraints?.pathLength,
    maySignCertificates: !usages || (usages.usages & KeyUsageFlags.keyCertSign) !== 0,
    extendedUsages: (certificate.getExtension(ExtendedKeyUsageExtension)?.usages ?? []).map(String),
    criticalExtensions: certificate.extensions.flatMap(({ critical, type }) =>
      critical ? [type] : [],
    ),
    publicKey: new Uint8Array(certificate.publicKey.rawData),
    directoryField: directoryOf(certificate),
    isSignedBy: (publicKey) => isSignedBy(certificate, publicKey),
  }
}

function directoryOf(certificate: X509Certificate): (oid: string) => string {
  const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.items ?? []
  const directory = names.find(({ type }) => type === 'dn')?.value
  const name = directory === undefined ? undefined : new Name(directory)
  return (oid) => name?.getField(oid)[0] ?? ''
}

async function isSignedBy(certificate: X509Certificate, publicKey: Bytes): Promise<boolean> {
  try {
    if (/^(SHA-1|MD5)$/i.test(certificate.signatureAlgorithm.hash.name)) return false
    return await certificate.verify({ publicKey: new PublicKey(publicKey), signatureOnly: true })
  } catch {
    // This runtime does not know the kind of the key or the signature.
    return false
  }
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text.replaceAll(/\s/g, '')), (char) => char.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

/** Cuts off what follows a certificate: a TPM may store it in a larger place. */
function trimmed(der: Uint8Array): Bytes {
  const length = 4 + (((der[2] ?? 0) << 8) | (der[3] ?? 0))
  const isLonger = der[0] === 0x30 && der[1] === 0x82 && length <= der.length
  return new Uint8Array(isLonger ? der.slice(0, length) : der)
}
