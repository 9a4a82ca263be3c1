import type {
  AckStatement,
  AnswerPost,
  DeliveryPost,
  VerdictPost,
} from '../../lib/schemas/statements.ts'
import type { OpenedScore } from '../../lib/teacher.ts'
import type { Usage } from '../inference/provider.ts'
import type { Commitment } from '../journal/steps.ts'
import type { JobSecrets } from './answer.ts'
import type { Looked } from './check-delivery.ts'
import type { Ending } from './job-end.ts'
import type { OutputKey } from './output-keys.ts'

type AckStep = AckStatement['step']

/** What a node has signed in a job. */
type Statements = {
  answer?: AnswerPost | undefined
  delivery?: DeliveryPost | undefined
  /** One for each delivery, oldest first. */
  verdicts: readonly VerdictPost[]
}

/** What of a node's statements the ICL has acknowledged: after a restart only what it is known to have. */
export type Taken = {
  answer?: AnswerPost | undefined
  delivery?: DeliveryPost | undefined
  /** The last one. */
  verdict?: VerdictPost | undefined
}

type SealedOutput = {
  readonly key: OutputKey
  readonly blob: Uint8Array<ArrayBuffer>
  stored?: { readonly highHandle: bigint; readonly lowHandle: bigint } | undefined
}

/** What a node has of its own in a job after its commitment; it grows with each statement that it signs. */
export type Own = Statements & {
  readonly taken: Taken
  /** The steps of which this run has the ICL's acknowledgement, or a refusal. */
  readonly acknowledged: Set<AckStep>
  readonly committed: Commitment
  readonly looked: Looked
  /** What its verdict on a delivery commits to: gone after a restart, and then left out. */
  scored?: OpenedScore | undefined
  /** The answer, nowhere but in memory: gone after a restart. */
  readonly text?: string | undefined
  /** The sealed answer with its key, and where that stands on chain: made once, however often the ICL asks. */
  output?: SealedOutput | undefined
  /** Hears what a question to the provider took. */
  readonly onUsage: (usage: Usage) => void
  /** What makes evidence of the output of another node. */
  readonly secrets: (signal: AbortSignal) => Promise<JobSecrets>
}

/** What became of a job that is over, by what the ICL took of the node. */
export function endingOf({ answer, delivery, verdict }: Readonly<Taken>, why: string): Ending {
  if (verdict) {
    return { outcome: verdict.verdict, ...(verdict.reason && { reason: verdict.reason }) }
  }
  if (delivery) return { outcome: 'result-posted' }
  return { outcome: answer ? 'answered' : 'given-up', reason: why.slice(0, 1_000) }
}
