import { attestationDigest } from '../../lib/attestation.ts'
import type { Address } from '../../lib/codecs.ts'
import {
  concatBytes,
  equalBytes,
  fromBase64Url,
  hmacSha256,
  toBase64Url,
  utf8,
} from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AttestationRequest } from '../../lib/schemas/attestation.ts'
import { verifySession } from '../../lib/session-grant.ts'
import { thumbprintOf } from '../../lib/session-key.ts'
import { type Dependencies, publicOrigin } from '../dependencies.ts'
import { attestedNode, type Certificate } from '../rules/eligibility.ts'
import { changeNode } from './change-node.ts'

const challengeMs = 300_000
const certificateMs = 24 * 3_600_000
const longestSessionMs = 48 * 3_600_000
const timeBytes = 8
const randomBytes = 16
const nonceBytes = timeBytes + randomBytes + 32

/** A nonce for one attestation of one address: the ICL recognises it by its tag and keeps nothing until it is used. */
export async function issueChallenge(deps: Dependencies, address: Address) {
  const now = deps.clock.now()
  const time = new Uint8Array(timeBytes)
  new DataView(time.buffer).setBigUint64(0, BigInt(now))
  const head = concatBytes(time, deps.random.bytes(randomBytes))
  const tag = await deps.keys.tag('challenge', concatBytes(utf8(address), head))
  return {
    nonce: toBase64Url(concatBytes(head, tag)),
    expires_at: Math.floor((now + challengeMs) / 1000),
    enrolled: false,
  }
}

/** Burns a nonce, whatever comes of it; throws when it was not issued for this address, is too old, or was used (spec 5). */
async function burnChallenge(deps: Dependencies, address: Address, nonce: string): Promise<void> {
  const bytes = fromBase64Url(nonce)
  const head = bytes.slice(0, timeBytes + randomBytes)
  const tag = bytes.slice(timeBytes + randomBytes)
  const isOurs =
    bytes.length === nonceBytes &&
    (await deps.keys.isTag('challenge', concatBytes(utf8(address), head), tag))
  if (!isOurs) {
    throw new ProblemError('challenge-invalid', 'The nonce was not issued for this address here')
  }
  const issuedAt = Number(new DataView(head.buffer).getBigUint64(0))
  const use = toBase64Url(deps.random.bytes(16))
  const first = await deps.store.claimKey(
    `challenge:${toBase64Url(head)}`,
    use,
    issuedAt + 2 * challengeMs,
  )
  if (first !== use) throw new ProblemError('challenge-used', 'The nonce was used before')
  if (deps.clock.now() > issuedAt + challengeMs) {
    throw new ProblemError('challenge-expired', 'The nonce is older than 300 s; fetch a new one')
  }
}

/** Checks a node's evidence and gives it a certificate bound to its session key (spec 5). */
export async function attestNode(deps: Dependencies, caller: Address, request: AttestationRequest) {
  const address = request.operator_address
  if (caller !== address) {
    throw new ProblemError('forbidden', 'The wallet that signed is not the one that attests')
  }
  await burnChallenge(deps, address, request.nonce)
  await checkEvidence(deps, request)
  const now = deps.clock.now()
  await checkSession(deps, request, now)

  const expiresAt = Math.min(now + certificateMs, request.session.not_after * 1000)
  const thumbprint = await thumbprintOf(request.session_public_key)
  const certificate: Certificate = {
    id: toBase64Url(deps.random.bytes(16)),
    backend: request.evidence.backend,
    issuedAt: now,
    expiresAt,
    thumbprint,
    session: { ...request.session, key: request.session_public_key },
  }
  const jws = await deps.keys.signCertificate({
    iss: publicOrigin(deps),
    sub: address,
    iat: Math.floor(now / 1000),
    exp: Math.floor(expiresAt / 1000),
    jti: certificate.id,
    cnf: { jkt: thumbprint },
    att: certificate.backend,
  })
  await changeNode(deps, address, (node) => {
    if (!node) return attestedNode(address, certificate)
    const former = new Set([...node.formerThumbprints, node.certificate.thumbprint])
    former.delete(thumbprint)
    const { heartbeatTimestamp: _, ...rest } = node
    return { ...rest, certificate, formerThumbprints: [...former].slice(-8), leaving: false }
  })
  deps.log.info('node attested', { node: address, backend: certificate.backend })
  return { certificate: jws, certificate_expires_at: Math.floor(expiresAt / 1000) }
}

async function checkEvidence(deps: Dependencies, request: AttestationRequest): Promise<void> {
  const { evidence } = request
  if (evidence.backend !== 'mock' || deps.mockAttestationKey === undefined) {
    throw new ProblemError(
      'attestation-backend-refused',
      `This ICL does not accept the backend ${evidence.backend}; it accepts: ${
        deps.network.attestation_backends.join(', ') || 'none'
      }`,
    )
  }
  const digest = await attestationDigest({
    origin: publicOrigin(deps),
    chainId: deps.network.chain_id,
    backend: evidence.backend,
    address: request.operator_address,
    nonce: request.nonce,
    activationSecret: new Uint8Array(),
    sessionPublicKey: request.session_public_key,
  })
  const expected = await hmacSha256(deps.mockAttestationKey, digest)
  if (!equalBytes(expected, fromBase64Url(evidence.hmac))) {
    throw new ProblemError(
      'attestation-hmac-invalid',
      'The HMAC does not fit: check that node and ICL have the same mock attestation key',
    )
  }
}

async function checkSession(
  deps: Dependencies,
  request: AttestationRequest,
  now: number,
): Promise<void> {
  const { not_after: notAfter, signature } = request.session
  if (notAfter * 1000 <= now || notAfter * 1000 > now + longestSessionMs) {
    throw new ProblemError('invalid-request', 'session.not_after must be within the next 48 hours')
  }
  const session = {
    address: request.operator_address,
    key: request.session_public_key,
    iclOrigin: publicOrigin(deps),
    chainId: deps.network.chain_id,
    notAfter,
  }
  if (!(await verifySession(session, signature))) {
    throw new ProblemError('session-signature-invalid', 'The wallet did not sign this session key')
  }
}
