import type { LocalAccount } from 'viem'
import type { ChainEndpoint } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import type { Fetch } from '../outgoing.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import type { Coprocessor } from './coprocessor.ts'
import type { Prover } from './prover.ts'

/** A new permit, without its secrets; the expiration in Unix seconds. */
export type PermitNews = { readonly issuer: string; readonly expiration: number }

/** The wallet that decrypts, and its chain. Timeouts are for a whole call, retries included. */
export type CofheOptions = ChainEndpoint & {
  readonly account: LocalAccount
  readonly clock: Clock
  /** The coprocessor's URLs, on chains other than 31337; left out for a known chain. */
  readonly coprocessor?: CoprocessorUrls | undefined
  /** Needed to encrypt on chains other than 31337. */
  readonly prover?: Prover | undefined
  /** Calls the coprocessor's services. */
  readonly fetch?: Fetch
  /** Called for each new permit. */
  readonly onPermit?: (news: PermitNews) => void
  readonly encryptTimeoutMs?: number
  readonly decryptTimeoutMs?: number
}

/** A coprocessor whose permit and keys can be made and fetched ahead. */
export type CofheCoprocessor = Coprocessor & {
  /** Makes the wallet's permit, as the first decryption would. Throws the errors of `decrypt`. */
  readonly makePermit: (signal?: AbortSignal) => Promise<void>
  /** Fetches the network's keys, as the first encryption would; throws `coprocessor-unavailable` or `coprocessor-too-many-requests`. */
  readonly fetchKeys: (signal?: AbortSignal) => Promise<void>
}
