/*
 * One address (an office, a proxy) may have many callers, and one of them can use up its allowance for failed signatures. The others still
 * get through, because the ICL remembers who authenticated lately, from any address, and verifies their signatures even then. The name of a
 * caller is read before it is verified, so anyone can use a known name. Therefore each address has 16 more allowances, one for each last
 * hex digit of the name. This bounds what an address can make the ICL verify. A caller under a known name uses up only that share.
 */

const max = 65_536

/** Remembers the callers that authenticated last: wallets of clients and nodes, and the jobs of readers. */
export function createKnownCallers() {
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
export function namedCaller(headers: Headers, jobId: string | undefined): string | undefined {
  if (headers.has('authorization')) return jobId
  const keyId = /;keyid="(?:erc8128:[0-9]{1,16}|svc-node):(0x[0-9a-fA-F]{40})/
  return keyId.exec(headers.get('signature-input') ?? '')?.[1]?.toLowerCase()
}
