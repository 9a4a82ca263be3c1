import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Network } from '../lib/schemas/network.ts'
import type { RecoverKey } from '../lib/wallet-signature.ts'
import type { Batches } from './async/batches.ts'
import type { KeyedMutex } from './async/mutex.ts'
import type { Notifier } from './async/notifier.ts'
import type { TpmTrust } from './attestation/tpm-trust.ts'
import type { Blobs } from './blobs/blobs.ts'
import type { Chain } from './chain/chain.ts'
import type { ClockWatch } from './chain/clock-watch.ts'
import type { Pool } from './pool/pool.ts'
import type { IclKeys } from './records/icl-keys.ts'
import type { Outages } from './records/outages.ts'
import type { Revocations } from './records/revocations.ts'
import type { Access } from './rules/access.ts'
import type { JobLimits } from './rules/job.ts'
import type { Store } from './store/store.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

/** Everything that the ICL is built on. */
export type Dependencies = {
  readonly clock: Clock
  readonly random: Random
  /** The id of this process among those that share the store. */
  readonly replicaId: string
  readonly store: Store
  readonly blobs: Blobs
  readonly chain: Chain
  readonly pool: Pool
  readonly outages: Outages
  readonly clockWatch: ClockWatch
  readonly keys: IclKeys
  readonly notifier: Notifier
  /** Runs the changes of one node in this process one at a time: of two that read the same version, only one can be saved. */
  readonly turns: KeyedMutex
  /** The same for jobs, and saves changes together that come at about the same time. */
  readonly changes: Batches
  readonly log: Log
  readonly metrics: Metrics
  readonly network: Network
  readonly limits: JobLimits
  readonly access: Access
  /** The operator's key for mock attestation; undefined refuses mock attestation. */
  readonly mockAttestationKey: Uint8Array | undefined
  /** Whether nodes on this machine get that key from the ICL: one for development that nobody else reaches. */
  readonly sharesMockKey?: boolean | undefined
  /** Which TPMs are accepted; undefined accepts none. */
  readonly tpm?: TpmTrust | undefined
  readonly revocations: Revocations
  /** Recovers wallets' keys faster than viem; undefined where the host cannot. */
  readonly recover?: RecoverKey | undefined
  /** Reads the script of the API reference; undefined where it is not built. */
  readonly readDocsScript?: (() => string | undefined) | undefined
  /** Sends webhooks for settled jobs; undefined when webhooks are off. */
  readonly webhooks?: Webhooks | undefined
}
