import type { Context } from 'hono'
import type { Endpoint } from '../../lib/endpoint.ts'
import type { OperationId } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { RateName } from '../../lib/schemas/network.ts'
import { type Caller, CertificateEnded, isByWallet } from './authenticate.ts'
import { createKnownCallers, namedCaller } from './known-callers.ts'
import type { Allowance, RateLimiter } from './rate-limit.ts'
import type { RequestEnv } from './request-env.ts'

/** Probes are answered from memory, and must not fail because other callers ask a lot. */
const unlimited: ReadonlySet<string> = new Set<OperationId>([
  'getHealth',
  'getLiveness',
  'getReadiness',
])

/** What costs the ICL most; of uploads, those that wallets sign. */
const stricter: Readonly<Record<string, RateName>> = {
  previewQuorum: 'preview',
  getNodeEvents: 'preview',
  getNodeFaults: 'preview',
  getConsoleJobs: 'preview',
  getChallenge: 'attestation',
  enrollTpm: 'attestation',
  verifyAttestation: 'attestation',
  releaseTpm: 'attestation',
  putBlob: 'upload',
} satisfies Partial<Record<OperationId, RateName>>

/** Whether nobody has to say who they are. */
const isOpen = (c: Context<RequestEnv>, { auth }: Endpoint): boolean =>
  auth === 'none' ||
  (auth === 'metrics-token' && c.get('deps').access.metricsToken === undefined) ||
  (auth === 'console' && c.get('deps').access.console !== 'token')

/** Applies the rate limits of one request; every method throws `rate-limited` when one is exhausted. */
export type Throttle = {
  /** Before anything else is known. */
  arrive(c: Context<RequestEnv>, endpoint: Endpoint | undefined): void
  /** Counts a failed authentication against the address that it came from, or the node that it is proven to be of. */
  fail(c: Context<RequestEnv>, error: unknown): void
  /** Once it is known who calls. */
  recognise(c: Context<RequestEnv>, caller: Caller, jobId: string | undefined): void
}

/** Rate limits: by address for unknown callers, by wallet, node or job for known ones. */
export function createThrottle(limiter: RateLimiter): Throttle {
  const check = (c: Context<RequestEnv>, allowance: Allowance | undefined) => {
    if (!allowance) return
    const tightest = c.get('allowance')
    if (!tightest || !allowance.allowed || allowance.remaining < tightest.remaining) {
      c.set('allowance', allowance)
    }
    if (allowance.allowed) return
    c.get('deps').metrics.limited(allowance.name)
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
    stricter[c.get('operation') ?? ''] ?? 'address'
  const takeByAddress = (c: Context<RequestEnv>) => take(c, addressLimit(c), c.get('address'))
  const refuseExhausted = (c: Context<RequestEnv>, name: RateName, by = c.get('address')) => {
    const allowance = limiter.look(name, by)
    if (allowance && !allowance.allowed) check(c, allowance)
  }

  const known = createKnownCallers()
  /** What failures count under: an address, or once its allowance is used up, its share for callers that authenticated lately. */
  const failingAs = (c: Context<RequestEnv>): string | undefined => {
    const address = c.get('address')
    if (limiter.look('failure', address)?.allowed !== false) return address
    const caller = namedCaller(c.req.raw.headers, c.req.param('jobId'))
    return caller !== undefined && known.has(caller) ? `${address} ${caller.at(-1)}` : undefined
  }

  return {
    arrive: (c, endpoint) => {
      if (unlimited.has(c.get('operation') ?? '')) return
      if (endpoint === undefined || isOpen(c, endpoint)) return takeByAddress(c)
      // What is left of an allowance for failing is nobody's business.
      refuseExhausted(c, 'failure', failingAs(c))
      // Refused only once the wallet is known, it would have cost a recovery, and a nonce in the store.
      if (isByWallet(endpoint.auth, c.req.raw.headers)) refuseExhausted(c, addressLimit(c))
    },
    fail: (c, error) => {
      if (!(error instanceof ProblemError) || error.status !== 401) return
      // Nothing was verified.
      if (error.code === 'signature-missing') return
      // It counts as what that node asks, and not against its address.
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

/** What a caller may still ask, in the headers of the IETF's draft (RateLimit-Policy, RateLimit). */
export function allowanceHeaders({ name, rate, remaining, resetSeconds }: Allowance) {
  return {
    'ratelimit-policy': `"${name}";q=${rate.requests};w=${rate.seconds}`,
    ratelimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  }
}
