/*
 * One address (an office, a proxy) may be many callers, and one of them can use up the allowance for failed signatures. The others still
 * get through, because the ICL knows them: a caller that authenticated lately, from any address, is verified even then. Callers are named before
 * they are verified, so anyone can use a known name. Each address therefore has 16 more allowances, one for each last hex digit of the
 * name. This bounds what an address can make the ICL verify, and a caller that uses a known name takes only from that share.
 */

/** Who authenticated lately: the wallets of clients and nodes, and the jobs of readers. */
export type KnownCallers = {
  add(caller: string): void
  has(caller: string): boolean
}

/** Remembers the `max` callers that authenticated last. */
export function createKnownCallers(max = 65_536): KnownCallers {
  const known = new Set<string>()
  return {
    add: (caller) => {
      // A Set keeps its order: the first is the one that has not authenticated for longest.
      known.delete(caller)
      known.add(caller)
      const [oldest] = known
      if (known.size > max && oldest !== undefined) known.delete(oldest)
    },
    has: (caller) => known.has(caller),
  }
}

/** Whom a request says it is from, not yet verified: the wallet in its key id, or the job that its read token is for. */
export function namedCaller(headers: Headers, jobId: string | undefined): string | undefined {
  if (headers.has('authorization')) return jobId
  const keyId = /;keyid="(?:erc8128:[0-9]{1,16}|svc-node):(0x[0-9a-fA-F]{40})/
  return keyId.exec(headers.get('signature-input') ?? '')?.[1]?.toLowerCase()
}
