// What @peculiar/x509 stands on has to be there before it.
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

/** What a certificate says, whatever it may be worth; times in milliseconds. */
export type Certificate = {
  readonly der: Bytes
  readonly subject: string
  readonly issuer: string
  readonly notBefore: number
  readonly notAfter: number
  readonly isCa: boolean
  /** How many issuers may stand below it; any number when undefined. */
  readonly pathLength: number | undefined
  readonly maySignCertificates: boolean
  /** OIDs. */
  readonly extendedUsages: readonly string[]
  /** OIDs of the extensions that nobody may ignore. */
  readonly criticalExtensions: readonly string[]
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Bytes
  /** A field of the directory name among its alternative names, by OID; empty when there is none. */
  readonly directoryField: (oid: string) => string
  /** True when the key signed it with a hash that still counts. */
  readonly isSignedBy: (publicKey: Bytes) => Promise<boolean>
}

/** Reads a certificate (DER) whole; undefined when it cannot be read. */
export function readCertificate(der: Uint8Array): Certificate | undefined {
  try {
    return contentOf(new X509Certificate(trimmed(der)))
  } catch {
    return undefined
  }
}

/** Every certificate of a PEM text, in order; throws TypeError that names the first that cannot be read. */
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
    // Keys and signatures of kinds that this runtime does not know.
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

/** The certificate alone: a TPM keeps it in a place that may be larger. */
function trimmed(der: Uint8Array): Bytes {
  const length = 4 + (((der[2] ?? 0) << 8) | (der[3] ?? 0))
  const isLonger = der[0] === 0x30 && der[1] === 0x82 && length <= der.length
  return new Uint8Array(isLonger ? der.slice(0, length) : der)
}
