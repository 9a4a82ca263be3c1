import type { Address } from '../../lib/codecs.ts'
import { equalBytes, sha256, utf8 } from '../../lib/digest.ts'
import type { Auth } from '../../lib/endpoint.ts'
import {
  contentDigest,
  type ParsedSignature,
  parseSignature,
  requiredComponents,
  type SignableRequest,
  sha256Digest,
} from '../../lib/http-signature.ts'
import { ProblemError } from '../../lib/problem.ts'
import {
  macAlgorithm,
  parseNodeKeyId,
  parseWalletKeyId,
  signatureAlgorithm,
  signatureLabels,
  verifyMac,
  verifyNodeSignature,
  verifyWalletSignature,
} from '../../lib/request-signature.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { checkRun } from '../operations/check-run.ts'
import { checkNonce, type NonceUse, takeNonce } from '../records/claim-key.ts'
import { isReadToken, requestKeyOf } from '../records/icl-keys.ts'
import { keyOf } from '../records/keys.ts'
import type { Node } from '../rules/eligibility.ts'
import type { RunKey } from '../rules/runs.ts'

/** The sender of a request. */
export type Caller =
  | { readonly kind: 'anyone' }
  /** `signedAt` in Unix seconds, by the wallet's clock. */
  | {
      readonly kind: 'wallet'
      readonly address: Address
      readonly signedAt: number
      readonly nonce: NonceUse
    }
  | { readonly kind: 'node'; readonly address: Address; readonly node: Node }
  /** A holder of the read token of the job in the path. */
  | { readonly kind: 'reader' }

type IncomingRequest = Omit<SignableRequest, 'hasBody'> & {
  /** Reads the body, once the signature over its digest holds. Undefined when the body is too large. */
  readonly body: () => Promise<Uint8Array<ArrayBuffer> | undefined>
  /** The job in the path, for read tokens. */
  readonly jobId: string | undefined
  /** True when the operation itself uses up the wallet's nonce, in the same save as its change. */
  readonly takesNonce?: boolean
}

/** Thrown when the certificate of a node has ended. The signature has proved that the node sent the request. */
export class CertificateEnded extends ProblemError {
  readonly node: Address

  constructor(node: Address, detail: string) {
    super('certificate-expired', detail)
    this.node = node
  }
}

const freshnessSeconds = 60
const longestValiditySeconds = 300

/** Finds out who sent a request. Throws ProblemError when the caller is not authenticated (spec 5). */
export type Authenticate = (
  deps: Dependencies,
  auth: Auth,
  request: IncomingRequest,
) => Promise<Caller>

/** Authenticates by signatures and tokens. */
export const authenticate: Authenticate = async (deps, auth, request) => {
  if (auth === 'none') return { kind: 'anyone' }
  if (auth === 'metrics-token') return authenticateOperator(deps, request)
  if (auth === 'console') return authenticateViewer(deps, request)
  if (auth === 'client-or-read-token' && request.headers.has('authorization')) {
    return authenticateReader(deps, request)
  }
  const label = isByWallet(auth, request.headers) ? signatureLabels.wallet : signatureLabels.node
  const parsed = parse(request, label)
  checkCoverage({ ...request, hasBody: false }, parsed)
  return label === signatureLabels.node
    ? authenticateNode(deps, parsed, request)
    : authenticateWallet(deps, parsed, request)
}

/** Whether the request counts only with a wallet's signature. Does not look whether it has one. */
export function isByWallet(auth: Auth, headers: Headers): boolean {
  if (auth === 'client-or-read-token') return !headers.has('authorization')
  if (auth !== 'client-or-node') return auth === 'wallet' || auth === 'client'
  return !headers.get('signature-input')?.startsWith(`${signatureLabels.node}=`)
}

const invalid = (why: string) => new ProblemError('signature-invalid', why)

function parse(request: IncomingRequest, label: string): ParsedSignature {
  let parsed: ParsedSignature | undefined
  try {
    parsed = parseSignature({ ...request, hasBody: false }, label)
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : 'The signature headers cannot be read')
  }
  if (parsed) return parsed
  throw new ProblemError('signature-missing', `The request needs a signature named "${label}"`)
}

function checkCoverage(request: SignableRequest, parsed: ParsedSignature): void {
  const missing = requiredComponents(request).filter((name) => !parsed.components.includes(name))
  if (missing.length > 0) throw invalid(`The signature does not cover ${missing.join(', ')}`)
}

async function checkBody(request: IncomingRequest, parsed: ParsedSignature): Promise<void> {
  const body = await request.body()
  checkCoverage({ ...request, hasBody: body?.length !== 0 }, parsed)
  // A body that is too large is refused later, now that its sender is known.
  if (!body?.length) return
  const claimed = sha256Digest(request.headers.get('content-digest') ?? '')
  if (claimed === undefined) throw invalid('Content-Digest needs a sha-256 of the body')
  if (!equalBytes(utf8(claimed), utf8(await contentDigest(body)))) {
    throw invalid('The body is not the one that was signed')
  }
}

/** Refuses a signature that is too old or from the future. The problem tells the ICL's time, so that the caller can correct its clock. */
function checkFreshness(
  deps: Dependencies,
  { created, expires, nonce }: Pick<ParsedSignature, 'created' | 'expires' | 'nonce'>,
): void {
  const now = toSeconds(deps.clock.now())
  const stale = (detail: string) => new ProblemError('signature-stale', detail, { serverTime: now })
  if (created > now + freshnessSeconds) throw stale('The signature is from the future')
  // Only a nonce, which wallets have, makes a longer life harmless.
  if (nonce === undefined && created < now - freshnessSeconds) {
    throw stale('The signature is older than 60 s')
  }
  if (expires === undefined) return
  if (expires <= created || expires - created > longestValiditySeconds) {
    throw invalid('The signature must expire within 300 s')
  }
  if (expires < now) throw stale('The signature has expired')
}

async function authenticateWallet(
  deps: Dependencies,
  parsed: ParsedSignature,
  request: IncomingRequest,
): Promise<Caller> {
  const keyId = parseWalletKeyId(parsed.keyId)
  if (!keyId || parsed.nonce === undefined || parsed.nonce === '' || parsed.expires === undefined) {
    throw invalid('A wallet signs with keyid erc8128:<chain id>:<address>, a nonce and an expiry')
  }
  const { chain_id } = deps.network
  if (keyId.chainId !== chain_id) throw invalid(`The chain id here is ${chain_id}`)
  checkFreshness(deps, parsed)
  if (!(await verifyWalletSignature(keyId.address, parsed, deps.recover))) {
    throw invalid('The wallet did not sign this request')
  }
  await checkBody(request, parsed)
  const nonce = {
    key: keyOf('nonce', keyId.address, parsed.nonce.slice(0, 128)),
    value: crypto.randomUUID(),
    expiresAt: (parsed.expires + freshnessSeconds) * 1000,
  }
  await (request.takesNonce ? checkNonce(deps, nonce) : takeNonce(deps, nonce))
  return { kind: 'wallet', address: keyId.address, signedAt: parsed.created, nonce }
}

async function authenticateNode(
  deps: Dependencies,
  parsed: ParsedSignature,
  request: IncomingRequest,
): Promise<Caller> {
  const keyId = parseNodeKeyId(parsed.keyId)
  if (!keyId) {
    throw invalid('A node signs with keyid svc-node:<address>:<thumbprint of the session key>')
  }
  checkFreshness(deps, { ...parsed, nonce: undefined })
  const node = (await deps.store.findNode(keyId.address))?.document
  if (!node) {
    const why = 'The ICL knows no attestation of this node. Attest again'
    throw new ProblemError('not-attested', why)
  }
  const { certificate } = node
  const runs = [certificate, ...node.runs.former]
  const run = runs.find(({ thumbprint }) => thumbprint === keyId.thumbprint)
  if (!run) throw invalid('This session key was never attested')
  await checkByRun(deps, keyId.address, run, parsed)
  await checkBody(request, parsed)
  await checkRun(deps, node, keyId.thumbprint, parsed.created)
  if (certificate.expiresAt <= deps.clock.now()) {
    throw new CertificateEnded(keyId.address, 'The certificate has expired. Attest again')
  }
  if (await deps.revocations.covers(certificate)) {
    throw new CertificateEnded(keyId.address, 'The certificate was revoked. Attest again')
  }
  return { kind: 'node', address: keyId.address, node }
}

/** Throws unless the request key or the session key of this run signed. Each algorithm has a key of its own. */
async function checkByRun(
  { keys }: Dependencies,
  address: Address,
  { thumbprint, session }: RunKey,
  parsed: ParsedSignature,
): Promise<void> {
  if (parsed.alg === macAlgorithm) {
    const requestKey = await requestKeyOf(keys, address, thumbprint)
    if (await verifyMac(requestKey, parsed)) return
    throw invalid('The MAC is not by the request key of this session. Attest again for its key')
  }
  if (parsed.alg !== undefined && parsed.alg !== signatureAlgorithm) {
    throw invalid(`alg is neither ${macAlgorithm} nor ${signatureAlgorithm}`)
  }
  if (await verifyNodeSignature(session.key, parsed)) return
  throw invalid('The session key did not sign this request')
}

const bearerOf = ({ headers }: IncomingRequest): string | undefined =>
  /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]

/** Compares digests, so that the time that it takes discloses neither content nor length of the token. */
async function authenticateOperator(
  { access }: Dependencies,
  request: IncomingRequest,
): Promise<Caller> {
  if (access.metricsToken === undefined) return { kind: 'anyone' }
  const [given, wanted] = await Promise.all([
    sha256(utf8(bearerOf(request) ?? '')),
    sha256(utf8(access.metricsToken)),
  ])
  if (equalBytes(given, wanted)) return { kind: 'anyone' }
  const why = 'This needs the bearer token of the operator of this ICL (SVC_ICL_METRICS_TOKEN)'
  throw new ProblemError('token-invalid', why)
}

/** Throws `not-found` when the operator shows no console, and `token-invalid` when the console needs a token that the caller lacks. */
async function authenticateViewer(deps: Dependencies, request: IncomingRequest): Promise<Caller> {
  checkConsole(deps)
  return deps.access.console === 'token' ? authenticateOperator(deps, request) : { kind: 'anyone' }
}

/** Throws `not-found` when the console is off, or needs a token and none is set. */
export function checkConsole({ access }: Pick<Dependencies, 'access'>): void {
  const isHidden = access.console === 'token' && access.metricsToken === undefined
  if (access.console !== 'off' && !isHidden) return
  throw new ProblemError('not-found', 'The operator of this ICL shows no console')
}

async function authenticateReader(deps: Dependencies, request: IncomingRequest): Promise<Caller> {
  const token = bearerOf(request)
  if (request.jobId && token && (await isReadToken(deps.keys, request.jobId, token))) {
    return { kind: 'reader' }
  }
  throw new ProblemError('token-invalid', 'The token does not read this job')
}
