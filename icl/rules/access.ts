import type { Address } from '../../lib/codecs.ts'
import type { Rate, RateName } from '../../lib/schemas/network.ts'

/** Who may use this ICL, and how much. */
export type Access = {
  /** What is not named is not limited. */
  readonly rates: Readonly<Partial<Record<RateName, Rate>>>
  /** The clients that may submit; undefined for every one. */
  readonly clients: ReadonlySet<Address> | undefined
  /** Jobs of one client in one day (UTC); undefined for no limit. */
  readonly jobsPerDay: number | undefined
  /** How many proxies before the ICL add to X-Forwarded-For; 0 when callers connect to it directly. */
  readonly trustedProxies: number
  /** Readers of /metrics must show it; undefined for everybody. */
  readonly metricsToken: string | undefined
  /** Who may see the console: everybody, holders of the token for metrics, or nobody. */
  readonly console: 'public' | 'token' | 'off'
}

/** Everybody, as much as they like: for tests, and where something in front decides. */
export const openAccess: Access = {
  rates: {},
  clients: undefined,
  jobsPerDay: undefined,
  trustedProxies: 0,
  metricsToken: undefined,
  console: 'public',
}
