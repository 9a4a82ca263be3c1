import type { Context } from 'hono'
import type { Endpoint } from '../../lib/endpoint.ts'
import type { OperationId } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { RateName } from '../../lib/schemas/network.ts'
import { type Caller, CertificateEnded, isByWallet } from './authenticate.ts'
import type { Allowance, RateLimiter } from './rate-limit.ts'
import type { RequestEnv } from './request-env.ts'

const probes: readonly OperationId[] = ['getHealth', 'getLiveness', 'getReadiness']
/** Probes are answered from memory, and must not fail because of other callers. */
const unlimited: ReadonlySet<string> = new Set(probes)

/** The operations that cost the ICL most, with their limits. For uploads, only those signed by wallets. */
const stricter: Readonly<Record<string, RateName>> = {
  previewQuorum: 'preview',
  getNodeEvents: 'preview',
  getNodeFaults: 'preview',
  getConsoleJobs: 'preview',
  getChallenge: 'attestation',
  getMockKey: 'attestation',
  enrollTpm: 'attestation',
  verifyAttestation: 'attestation',
  releaseTpm: 'attestation',
  putBlob: 'upload',
} satisfies Partial<Record<OperationId, RateName>>

const isOpen = (c: Context<RequestEnv>, { auth }: Endpoint): boolean =>
  auth === 'none' ||
  (auth === 'metrics-token' && c.get('request').deps.access.metricsToken === undefined) ||
  (auth === 'console' && c.get('request').deps.access.console !== 'token')

/** Applies the rate limits of a request. Its methods throw `rate-limited` when a limit is exhausted. */
export type Throttle = {
  /** Called before authentication. */
  arrive(c: Context<RequestEnv>, endpoint: Endpoint | undefined): void
  /** Counts a failed authentication against the caller's address, or against the node that is proved to have sent the request. */
  fail(c: Context<RequestEnv>, error: unknown): void
  /** Called after authentication. */
  recognise(c: Context<RequestEnv>, caller: Caller, jobId: string | undefined): void
}

/** Rate limits: by address for unknown callers, by wallet, node or job for authenticated ones. */
export function createThrottle(limiter: RateLimiter): Throttle {
  const check = (c: Context<RequestEnv>, allowance: Allowance | undefined) => {
    if (!allowance) return
    const tightest = c.get('request').allowance
    if (!tightest || !allowance.allowed || allowance.remaining < tightest.remaining) {
      c.get('request').allowance = allowance
    }
    if (allowance.allowed) return
    c.get('request').deps.metrics.limited(allowance.name)
    const { requests, seconds } = allowance.rate
    throw new ProblemError(
      'rate-limited',
      `At most ${requests} requests in ${seconds} s count towards the limit "${allowance.name}". Wait ${allowance.retryAfterSeconds} s`,
      { retryAfterSeconds: allowance.retryAfterSeconds },
    )
  }
  const take = (c: Context<RequestEnv>, name: RateName, caller: string) =>
    check(c, limiter.take(name, caller))
  const addressLimit = (c: Context<RequestEnv>): RateName =>
    stricter[c.get('request').operation ?? ''] ?? 'address'
  const takeByAddress = (c: Context<RequestEnv>) =>
    take(c, addressLimit(c), c.get('request').address)
  const refuseExhausted = (
    c: Context<RequestEnv>,
    name: RateName,
    by = c.get('request').address,
  ) => {
    const allowance = limiter.look(name, by)
    if (allowance && !allowance.allowed) check(c, allowance)
  }

  const known = createKnownCallers()
  /** What failures count against: the address, or once that is exhausted, the address's share for callers that authenticated lately. */
  const failingAs = (c: Context<RequestEnv>): string | undefined => {
    const address = c.get('request').address
    if (limiter.look('failure', address)?.allowed !== false) return address
    const caller = namedCaller(c.req.raw.headers, c.req.param('jobId'))
    return caller !== undefined && known.has(caller) ? `${address} ${caller.at(-1)}` : undefined
  }

  return {
    arrive: (c, endpoint) => {
      if (unlimited.has(c.get('request').operation ?? '')) return
      if (endpoint === undefined || isOpen(c, endpoint)) return takeByAddress(c)
      // Only looked at, because the headers must not disclose the rest of this allowance.
      refuseExhausted(c, 'failure', failingAs(c))
      // Refusing after authentication would cost a recovery of the key and a nonce in the store.
      if (isByWallet(endpoint.auth, c.req.raw.headers)) refuseExhausted(c, addressLimit(c))
    },
    fail: (c, error) => {
      if (!(error instanceof ProblemError) || error.status !== 401) return
      // Nothing was verified, so nothing counts.
      if (error.code === 'signature-missing') return
      // Counts against the node's own limit, and not against its address.
      if (error instanceof CertificateEnded) return take(c, 'node', error.node)
      const failing = failingAs(c)
      if (failing !== undefined) limiter.take('failure', failing)
    },
    recognise: (c, caller, jobId) => {
      const name = caller.kind === 'reader' ? jobId : 'address' in caller && caller.address
      if (name) known.add(name)
      switch (caller.kind) {
        case 'node':
          return take(c, 'node', caller.address)
        case 'reader':
          return take(c, 'reader', jobId ?? '')
        case 'wallet':
          // Wallets cost nothing to make, addresses do.
          takeByAddress(c)
          return take(c, 'wallet', caller.address)
        case 'anyone':
      }
    },
  }
}

/** The state of an allowance, in the headers of the IETF draft (RateLimit-Policy, RateLimit). */
export function allowanceHeaders({ name, rate, remaining, resetSeconds }: Allowance) {
  return {
    'ratelimit-policy': `"${name}";q=${rate.requests};w=${rate.seconds}`,
    ratelimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  }
}

/*
 * One address (an office, a proxy) may have many callers, and one of them can use up its allowance for failed signatures. The others still
 * get through, because the ICL remembers who authenticated lately, from any address, and verifies their signatures even then. The name of a
 * caller is read before it is verified, so anyone can use a known name. Therefore each address has 16 more allowances, one for each last
 * hex digit of the name. This bounds what an address can make the ICL verify. A caller under a known name uses up only that share.
 */

const max = 65_536

/** Remembers the callers that authenticated last: wallets of clients and nodes, and the jobs of readers. */
function createKnownCallers() {
  const known = new Set<string>()
  return {
    add: (caller: string) => {
      // A Set keeps its order: the first caller is the one whose last authentication is oldest.
      known.delete(caller)
      known.add(caller)
      const [oldest] = known
      if (known.size > max && oldest !== undefined) known.delete(oldest)
    },
    has: (caller: string) => known.has(caller),
  }
}

/** The unverified name of a caller: the wallet in its key id, or the job in the path when it has a token. */
function namedCaller(headers: Headers, jobId: string | undefined): string | undefined {
  if (headers.has('authorization')) return jobId
  const keyId = /;keyid="(?:erc8128:[0-9]{1,16}|svc-node):(0x[0-9a-fA-F]{40})/
  return keyId.exec(headers.get('signature-input') ?? '')?.[1]?.toLowerCase()
}
