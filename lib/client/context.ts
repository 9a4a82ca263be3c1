import type { Api } from '../api.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Clock } from '../clock.ts'
import type { Address } from '../codecs.ts'
import type { Coprocessor } from '../coprocessor/coprocessor.ts'
import type { Random } from '../random.ts'
import type { Network } from '../schemas/network.ts'
import type { ClientChain } from './client-chain.ts'
import type { OwnSecret } from './own-secret.ts'

/** The operations of the ICL that a client calls. */
type ClientApi = Pick<
  Api,
  | 'getNetwork'
  | 'getJwks'
  | 'getModels'
  | 'previewQuorum'
  | 'drawList'
  | 'putBlob'
  | 'submitJob'
  | 'listJobs'
  | 'getJob'
  | 'followJob'
  | 'getReceipt'
  | 'cancelJob'
>

/** Everything outside that the steps of an inference need. */
export type ClientContext = {
  readonly api: ClientApi
  readonly network: Network
  /** The client's wallet. */
  readonly address: Address
  readonly chain: ClientChain
  readonly coprocessor: Coprocessor
  readonly blobs: Blobs
  /** The secret of this client's jobs at this ICL. The first call may ask the user of a wallet. */
  readonly secret: () => Promise<OwnSecret>
  readonly clock: Clock
  readonly random: Random
}

/**
 * Options of an inference's calls: 6 attempts in 8 s, in which an ICL starts again, and no limit on waiting while it says that it has too
 * much to do.
 */
export const patient = { attempts: 6, onLoad: () => {} } as const
