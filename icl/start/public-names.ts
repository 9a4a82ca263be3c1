import { Resolver } from 'node:dns/promises'

const timeoutMs = 2_000
const tries = 2

/**
 * Makes the look-up of names on the public internet: it asks the machine's name servers, or the given ones. A name server that a client
 * chose may never respond. The system's own look-up (`dns.lookup`) would then hold one of the process's few threads, and delay other
 * names and files. The look-up returns no addresses for a name that is not found in time, IPv4 first otherwise.
 */
export function createNameLookup(
  servers?: readonly string[],
): (host: string) => Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: timeoutMs, tries })
  if (servers) resolver.setServers(servers)
  return async (host) => {
    // A machine without IPv6 would otherwise wait for addresses that it cannot reach.
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  }
}
