import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Network } from '../lib/schemas/network.ts'
import type { Blobs } from './blobs/blobs.ts'
import type { Chain } from './chain/chain.ts'
import type { IclKeys } from './keys.ts'
import type { Log } from './log.ts'
import type { JobLimits } from './rules/job.ts'
import type { Store } from './store/store.ts'
import type { Waiters } from './waiters.ts'

/** Everything that the ICL gets from outside. */
export type Dependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly blobs: Blobs
  readonly chain: Chain
  readonly keys: IclKeys
  readonly waiters: Waiters
  readonly log: Log
  readonly network: Network
  readonly limits: JobLimits
  /** The operator's key for mock attestation; mock is refused without one. */
  readonly mockAttestationKey: Uint8Array | undefined
}

/** The origin that signatures, certificates and sessions are bound to. */
export const publicOrigin = ({ network }: Pick<Dependencies, 'network'>): string =>
  new URL(network.public_url).origin
