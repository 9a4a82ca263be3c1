import { equalBytes } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Certificate } from './x509.ts'

// Those of Intel's processors have seven certificates: the root, two authorities, three of the processor, and the key's.
const longestChain = 8

/** Critical extensions that are checked or do not matter: subjectAltName, keyUsage, basicConstraints, extKeyUsage, certificatePolicies. */
const knownExtensions: ReadonlySet<string> = new Set([
  '2.5.29.17',
  '2.5.29.15',
  '2.5.29.19',
  '2.5.29.37',
  '2.5.29.32',
])

/** The root that a chain ends at, and the time until which the whole chain is valid (milliseconds). */
export type Anchored = { readonly root: Certificate; readonly validUntil: number }

/**
 * Follows a certificate to a trusted root. Checks names, signatures, validity, the CA flag, the path length and keyCertSign, and refuses
 * unknown critical extensions. Throws ProblemError `ek-chain-untrusted`, `ek-chain-expired` or `ek-chain-invalid`.
 */
export async function followChain(
  leaf: Certificate,
  intermediates: readonly Certificate[],
  roots: readonly Certificate[],
  now: number,
): Promise<Anchored> {
  let current = leaf
  let validUntil = Number.POSITIVE_INFINITY
  for (let depth = 0; depth < longestChain; depth++) {
    checkLink(current, depth, now)
    validUntil = Math.min(validUntil, current.notAfter)
    const isRoot = depth > 0 && roots.some((root) => isSame(root, current))
    if (isRoot) return { root: current, validUntil }
    current = await findIssuer(current, [...roots, ...intermediates])
  }
  throw new ProblemError('ek-chain-invalid', `The chain has more than ${longestChain} certificates`)
}

async function findIssuer(
  certificate: Certificate,
  candidates: readonly Certificate[],
): Promise<Certificate> {
  for (const candidate of candidates) {
    if (candidate.subject !== certificate.issuer) continue
    if (await certificate.isSignedBy(candidate.publicKey)) return candidate
  }
  throw new ProblemError(
    'ek-chain-untrusted',
    `Nothing that is trusted or was sent along has issued "${certificate.subject || 'the endorsement key certificate'}" (issuer: "${certificate.issuer}")`,
  )
}

function checkLink(certificate: Certificate, depth: number, now: number): void {
  const who = certificate.subject || 'the endorsement key certificate'
  const { notBefore, notAfter, criticalExtensions, isCa, pathLength } = certificate
  if (now < notBefore || now > notAfter) {
    throw new ProblemError('ek-chain-expired', `"${who}" is not valid at this time`)
  }
  const invalid = (why: string) => new ProblemError('ek-chain-invalid', `"${who}" ${why}`)
  const unknown = criticalExtensions.find((oid) => !knownExtensions.has(oid))
  if (unknown) throw invalid(`has a critical extension that is not known here: ${unknown}`)
  if (depth === 0) return
  if (!isCa) throw invalid('issues certificates, but is no CA')
  // `depth - 1` issuers are below this one.
  if (pathLength !== undefined && pathLength < depth - 1) {
    throw invalid('may not have so many issuers below it')
  }
  if (!certificate.maySignCertificates) throw invalid('may not sign certificates')
}

const isSame = (a: Certificate, b: Certificate): boolean => equalBytes(a.der, b.der)
