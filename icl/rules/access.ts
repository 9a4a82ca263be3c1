import type { Address } from '../../lib/codecs.ts'
import type { Rate, RateName } from '../../lib/schemas/network.ts'

/** Origins of pages, as browsers name them; `*` for every origin. */
export type AllowedOrigins = '*' | readonly string[]

/** Who may use this ICL, and how much. */
export type Access = {
  /** A rate that is not named here is not limited. */
  readonly rates: Readonly<Partial<Record<RateName, Rate>>>
  /** The clients that may submit jobs; undefined for every client. */
  readonly clients: ReadonlySet<Address> | undefined
  /** Jobs of one client in one day (UTC); undefined for no limit. */
  readonly jobsPerDay: number | undefined
  /** How many proxies before the ICL add to X-Forwarded-For; 0 when callers connect to it directly. */
  readonly trustedProxies: number
  /** The token that readers of /metrics must present; undefined when everybody may read. */
  readonly metricsToken: string | undefined
  /** Who may see the console: everybody, holders of the metrics token, or nobody. */
  readonly console: 'public' | 'token' | 'off'
  /** Whose pages may call the paths of clients. */
  readonly origins: AllowedOrigins
}

/** No limits: for tests, and for an ICL behind something that limits access. */
export const openAccess: Access = {
  rates: {},
  clients: undefined,
  jobsPerDay: undefined,
  trustedProxies: 0,
  metricsToken: undefined,
  console: 'public',
  origins: [],
}
