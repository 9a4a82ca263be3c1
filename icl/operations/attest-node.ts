import { sessionProofBytes } from '../../lib/attestation.ts'
import type { Address } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AttestationRequest } from '../../lib/schemas/attestation.ts'
import { publicOrigin } from '../../lib/schemas/network.ts'
import { canWrapFor, verifyReading } from '../../lib/sealing/reading-key.ts'
import { sealRequestKey } from '../../lib/sealing/request-key.ts'
import { verifySession } from '../../lib/session-grant.ts'
import { thumbprintOf, verifySignature } from '../../lib/session-key.ts'
import { toSeconds } from '../../lib/time.ts'
import { backendRefused } from '../attestation/binding.ts'
import { burnNonce, createNonce } from '../attestation/challenge.ts'
import { ekReleaseOf, ekTaken, ekWriteOf, findEkHolder } from '../attestation/ek-binding.ts'
import type { Proven } from '../attestation/evidence.ts'
import { checkMockEvidence } from '../attestation/mock-evidence.ts'
import {
  longestSessionMs,
  sessionKeyTaken,
  sessionKeyWriteOf,
} from '../attestation/session-key-holder.ts'
import {
  checkCounters,
  checkNotRevoked,
  checkTpmEvidence,
  isEnrolled,
} from '../attestation/tpm-evidence.ts'
import type { Dependencies } from '../dependencies.ts'
import { findBan, revokeCertificate } from '../records/bans.ts'
import { type Alongside, changeNode } from '../records/change-node.ts'
import { requestKeyOf } from '../records/icl-keys.ts'
import { attestedNode, type Certificate, type Node } from '../rules/eligibility.ts'
import type { Enrollment } from '../rules/enrollment.ts'
import { noFormerRuns, openRun, type RunOpening } from '../rules/runs.ts'
import { runProblem } from './check-run.ts'

const certificateMs = 24 * 3_600_000

/** Returns a nonce for one attestation of an address, and what a TPM has to quote. */
export async function issueChallenge(deps: Dependencies, address: Address) {
  const { tpm } = deps
  return {
    ...(await createNonce(deps, address)),
    enrolled: tpm !== undefined && (await isEnrolled(deps, tpm, address)),
    ...(tpm && { tpm: { pcrs: [...tpm.policy.pcrs], event_log: tpm.policy.event_log } }),
  }
}

/** Checks a node's evidence and gives it a certificate bound to its session key (spec 5). */
export async function attestNode(
  deps: Dependencies,
  caller: { readonly address: Address; readonly signedAt: number },
  request: AttestationRequest,
) {
  const barrier = deps.store.commits.barrier()
  const address = request.operator_address
  if (caller.address !== address) {
    throw new ProblemError('forbidden', 'The wallet that signed is not the one that attests')
  }
  const challengedAt = await burnNonce(deps, address, request.nonce)
  await checkNotBanned(deps, address)
  const proven = await checkEvidence(deps, request)
  await checkSession(deps, request, proven)
  await checkReading(deps, request)
  const certificate = await certificateOf(deps, request, proven)
  const jws = await deps.keys.signCertificate({
    iss: publicOrigin(deps.network),
    sub: address,
    iat: toSeconds(certificate.issuedAt),
    exp: toSeconds(certificate.expiresAt),
    jti: certificate.id,
    cnf: { jkt: certificate.thumbprint },
    att: proven.attestation,
  })
  const opening = { ...caller, challengedAt, reading: request.reading }
  await saveAttested(deps, opening, certificate, proven)
  await checkStillGood(deps, address, proven)
  await barrier()
  deps.log.info('node attested', { node: address, ...proven.attestation })
  return {
    certificate: jws,
    certificate_expires_at: toSeconds(certificate.expiresAt),
    request_key: await sealedRequestKey(deps, request, certificate),
  }
}

async function sealedRequestKey(
  { keys, network, random }: Dependencies,
  { operator_address: address, reading }: AttestationRequest,
  { thumbprint }: Certificate,
): Promise<string> {
  const session = { origin: publicOrigin(network), chainId: network.chain_id, address, thumbprint }
  const requestKey = await requestKeyOf(keys, address, thumbprint)
  return sealRequestKey(requestKey, reading.key, session, random)
}

function checkEvidence(deps: Dependencies, request: AttestationRequest): Promise<Proven> {
  const { evidence } = request
  if (evidence.backend === 'mock' && deps.mockAttestationKey) {
    return checkMockEvidence(deps, deps.mockAttestationKey, request, evidence.hmac)
  }
  if (evidence.backend === 'tpm' && deps.tpm) {
    return checkTpmEvidence(deps, deps.tpm, request, evidence)
  }
  throw backendRefused(deps.network, evidence.backend)
}

async function certificateOf(
  deps: Dependencies,
  request: AttestationRequest,
  { attestation, highestTier, enrollment }: Proven,
): Promise<Certificate> {
  const now = deps.clock.now()
  return {
    id: toBase64Url(deps.random.bytes(16)),
    backend: attestation.backend,
    highestTier,
    issuedAt: now,
    expiresAt: Math.min(
      now + certificateMs,
      request.session.not_after * 1000,
      enrollment?.validUntil ?? Number.POSITIVE_INFINITY,
    ),
    thumbprint: await thumbprintOf(request.session_public_key),
    session: { ...request.session, key: request.session_public_key },
    ...(attestation.backend === 'tpm' && { tpm: { ek: attestation.ek, ak: attestation.ak } }),
  }
}

async function saveAttested(
  deps: Dependencies,
  { address, reading, ...opening }: RunOpening & Pick<Node, 'address' | 'reading'>,
  certificate: Certificate,
  { enrollment, isFirst }: Proven,
): Promise<void> {
  let formerEk: string | undefined
  let isFormerBound = true
  const change = (node: Node | undefined): Node => {
    formerEk = node?.enrollment?.ek
    const enrolled = enrollment && { enrollment }
    if (!node) {
      const runs = { ...noFormerRuns, challengedAt: opening.challengedAt }
      return { ...attestedNode(address, certificate, reading), runs, ...enrolled }
    }
    if (enrollment && !isFirst) checkStillEnrolled(node, enrollment)
    const now = deps.clock.now()
    const runs = openRun(node.runs, node.certificate, certificate, opening, now)
    if (runs === 'overtaken') {
      const why = 'A daemon with a later challenge attested first. Fetch a new challenge'
      throw new ProblemError('challenge-expired', why)
    }
    if (typeof runs === 'string') throw runProblem(runs, node.runs, now)
    const { heartbeatTimestamp: _, ...rest } = node
    return { ...rest, certificate, reading, runs, leaving: false, ...enrolled }
  }
  const { thumbprint } = certificate
  const alongside = (): Alongside => {
    const sessionKey = sessionKeyWriteOf(deps, thumbprint, address)
    const binding = enrollment && isFirst ? [ekWriteOf(deps, enrollment.ek, address)] : []
    // A node that moved to another TPM loses the one it had.
    const hasMoved = enrollment && formerEk !== undefined && formerEk !== enrollment.ek
    const release = hasMoved && isFormerBound ? [ekReleaseOf({ id: formerEk ?? '', address })] : []
    return {
      writes: [sessionKey, ...binding, ...release],
      onRefused: ({ kind, ...write }) => {
        if (kind === 'release-key') isFormerBound = false
        else throw 'key' in write && write.key === sessionKey.key ? sessionKeyTaken() : ekTaken()
      },
    }
  }
  await changeNode(deps, address, change, alongside)
}

const notEnrolled = (why: string) => new ProblemError('tpm-not-enrolled', `${why}. Enrol again`)

/** Throws when the TPM was released or replaced since the evidence was checked, or a newer quote of the same key was taken. */
function checkStillEnrolled({ enrollment: now }: Node, { ek, ak, counters }: Enrollment): void {
  const isSame = now?.ek === ek && now.ak === ak
  if (!isSame) throw notEnrolled('The TPM was released or exchanged meanwhile')
  if (counters) checkCounters(now.counters, counters)
}

/** Checks again after the save. A concurrent ban, revocation or release either saw this certificate and ended it, or is found here. */
async function checkStillGood(
  deps: Dependencies,
  address: Address,
  { enrollment }: Proven,
): Promise<void> {
  await checkNotBanned(deps, address)
  if (!enrollment) return
  try {
    await checkNotRevoked(deps, enrollment)
    const holder = await findEkHolder(deps, enrollment.ek)
    if (holder !== address) throw notEnrolled('The TPM was released meanwhile')
  } catch (error) {
    await revokeCertificate(deps, address)
    throw error
  }
}

/** Throws `node-banned` for a banned node, and ends the certificate that it may have got at the same moment. */
export async function checkNotBanned(deps: Dependencies, address: Address): Promise<void> {
  const ban = await findBan(deps, address)
  if (!ban) return
  await revokeCertificate(deps, address)
  throw new ProblemError('node-banned', `The operator of this ICL has banned it: ${ban.reason}`)
}

async function checkSession(
  deps: Dependencies,
  request: AttestationRequest,
  { digest }: Proven,
): Promise<void> {
  const now = deps.clock.now()
  const { not_after: notAfter, signature } = request.session
  if (notAfter * 1000 <= now || notAfter * 1000 > now + longestSessionMs) {
    throw new ProblemError('invalid-request', 'session.not_after must be within the next 48 hours')
  }
  const session = {
    address: request.operator_address,
    key: request.session_public_key,
    iclOrigin: publicOrigin(deps.network),
    chainId: deps.network.chain_id,
    notAfter,
  }
  if (!(await verifySession(session, signature, deps.recover))) {
    throw new ProblemError('session-signature-invalid', 'The wallet did not sign this session key')
  }
  const proof = sessionProofBytes(digest)
  if (!(await verifySignature(session.key, request.session_signature, proof))) {
    const why = 'The session key did not sign the digest of this attestation'
    throw new ProblemError('session-proof-invalid', why)
  }
}

/** Clients refuse a list with a reading key that its node did not sign, or that nothing can be wrapped for. */
async function checkReading(
  { network, recover }: Dependencies,
  { operator_address: address, reading }: AttestationRequest,
): Promise<void> {
  const isSigned = await verifyReading(address, network.chain_id, reading, recover)
  if (isSigned && (await canWrapFor(reading.key))) return
  const why = isSigned
    ? 'Nothing can be encrypted for this reading key'
    : 'The wallet did not sign this reading key for this chain'
  throw new ProblemError('reading-key-invalid', why)
}
