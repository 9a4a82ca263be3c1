import type { Blobs } from '../../lib/blobs/blobs.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Coprocessor } from '../../lib/coprocessor/coprocessor.ts'
import type { Random } from '../../lib/random.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import type { SigningKey } from '../../lib/session-key.ts'
import type { NodeChain } from '../chain/chain.ts'
import type { IclKeys } from '../icl-keys.ts'
import type { OfferedModels } from '../inference/models.ts'
import type { Acks } from '../journal/acks.ts'
import type { History } from '../journal/history.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../log.ts'
import type { NodeApi } from '../node-api.ts'
import type { OutputKeys } from './output-keys.ts'

/** One assignment of a job. */
export type AssignmentId = Pick<AssignmentOffer, 'jobId' | 'fence'>

/** What running jobs needs. */
export type JobDeps = {
  readonly address: Address
  readonly sessionKey: SigningKey
  /** For which sessions are granted. */
  readonly iclOrigin: string
  readonly chainId: number
  readonly api: Omit<NodeApi, 'postHeartbeat' | 'getAssignments'>
  /** Whose acknowledgements count. */
  readonly iclKeys: IclKeys
  readonly coprocessor: Coprocessor
  readonly outputKeys: Pick<OutputKeys, 'take'>
  readonly blobs: Blobs
  readonly chain: Pick<NodeChain, 'storeOutputKey' | 'listCommitmentOf'>
  readonly models: OfferedModels
  readonly journal: Journal
  readonly history: History
  readonly acks: Acks
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** How a job reports to its starter. */
export type JobSteps = {
  /** The claim was answered, well or badly, or none is needed. */
  readonly onClaimed: () => void
  /** The job holds no slot any more, though it may go on. */
  readonly onSlotFree: () => void
}

/** Tries for one call of a job while the ICL is away, some minutes' worth: every call may be repeated, and the job's deadline ends the tries. */
export const callAttempts = 60

/** The client's commitment to a list, and a grant, may be on their way when a claim is answered: how long one waits for them, in milliseconds. */
export const grantPatienceMs = 8_000
