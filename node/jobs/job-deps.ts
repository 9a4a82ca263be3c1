import type { Blobs } from '../../lib/blobs/blobs.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Coprocessor } from '../../lib/coprocessor/coprocessor.ts'
import type { Random } from '../../lib/random.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import type { ReadingKey } from '../../lib/sealing/reading-key.ts'
import type { SigningKey } from '../../lib/session-key.ts'
import type { NodeChain } from '../chain/chain.ts'
import type { IclKeys } from '../icl-keys.ts'
import type { OfferedModels } from '../inference/models.ts'
import type { Speeds } from '../inference/speed.ts'
import type { Acks } from '../journal/acks.ts'
import type { History } from '../journal/history.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../log.ts'
import type { NodeApi } from '../node-api.ts'
import type { Budget } from './budget.ts'
import type { OutputKeys } from './output-keys.ts'

/** One assignment of a job. */
export type AssignmentId = Pick<AssignmentOffer, 'jobId' | 'fence'>

/** The dependencies of a running job. */
export type JobDeps = {
  readonly address: Address
  readonly sessionKey: SigningKey
  readonly readingKey: ReadingKey
  /** The origin that session grants name. */
  readonly iclOrigin: string
  readonly chainId: number
  readonly promptKeyStore: Address
  readonly api: Omit<NodeApi, 'postHeartbeat' | 'getAssignments'>
  /** The keys whose acknowledgements count. */
  readonly iclKeys: IclKeys
  readonly coprocessor: Coprocessor
  readonly outputKeys: Pick<OutputKeys, 'take'>
  readonly blobs: Blobs
  readonly chain: Pick<
    NodeChain,
    'storeOutputKey' | 'listCommitmentOf' | 'newestBlock' | 'leaveRpc'
  >
  readonly models: OfferedModels
  readonly budget: Budget
  readonly speeds: Speeds
  readonly journal: Journal
  readonly history: History
  readonly acks: Acks
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Callbacks from a job to its starter. */
export type JobSteps = {
  /** The ICL has responded to the claim, or refused it. */
  readonly onClaimed: () => void
  /** The job no longer holds a slot, though it may go on. */
  readonly onSlotFree: () => void
}

/** Tries per call while the ICL is away, some minutes' worth. Every call is idempotent, and the job's deadline ends the tries. */
export const callAttempts = 60

/** Milliseconds to wait for the list commitment and the grant, which may not be on chain yet when the ICL answers a claim. */
export const grantPatienceMs = 8_000
