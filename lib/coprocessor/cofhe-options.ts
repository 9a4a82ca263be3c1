import type { LocalAccount } from 'viem'
import type { Fetch } from '../api.ts'
import type { ChainEndpoint } from '../chain/clients.ts'
import type { Clock } from '../clock.ts'
import type { CoprocessorUrls } from '../schemas/coprocessor-urls.ts'
import type { Coprocessor } from './coprocessor.ts'
import type { Prover } from './prover.ts'

/** A permit that was made, without what it is used with; the expiration in Unix seconds. */
export type PermitNews = { readonly issuer: string; readonly expiration: number }

/** Which wallet decrypts where; timeouts are for one whole call, retries included. */
export type CofheOptions = ChainEndpoint & {
  readonly account: LocalAccount
  readonly clock: Clock
  /** Where the coprocessor is, on chains other than 31337; left out where the chain is a known one. */
  readonly coprocessor?: CoprocessorUrls | undefined
  /** Needed to encrypt on chains other than 31337. */
  readonly prover?: Prover | undefined
  /** For the keys of the coprocessor. */
  readonly fetch?: Fetch
  /** Told of each permit that is made. */
  readonly onPermit?: (news: PermitNews) => void
  readonly encryptTimeoutMs?: number
  readonly decryptTimeoutMs?: number
}

/** A coprocessor whose permit can be made, and whose keys can be fetched, before they are needed. */
export type CofheCoprocessor = Coprocessor & {
  /** Makes the wallet's permit; without it, the first decryption does. Throws the errors of `decrypt`. */
  readonly makePermit: (signal?: AbortSignal) => Promise<void>
  /** Fetches the network's keys, which the first encryption would do; throws `coprocessor-unavailable` or `coprocessor-too-many-requests`. */
  readonly fetchKeys: (signal?: AbortSignal) => Promise<void>
}
