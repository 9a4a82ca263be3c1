import type { Address } from '../../lib/codecs.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import type {
  AckStatement,
  AnswerPost,
  DeliveryPost,
  NumbersPost,
  VerdictPost,
} from '../../lib/schemas/statements.ts'
import type { Usage } from '../inference/provider.ts'
import type { Commitment } from '../journal/steps.ts'
import type { JobSecrets } from './answer.ts'
import type { Looked } from './check-delivery.ts'
import type { JobDeps } from './job-deps.ts'
import type { Ending } from './job-end.ts'
import type { OutputKey } from './output-keys.ts'

/** A statement that the ICL acknowledges. */
export type AckStep = AckStatement['step']

/** What a node has signed in a job. */
type Statements = {
  answer?: AnswerPost | undefined
  delivery?: DeliveryPost | undefined
  /** One verdict for each delivery, oldest first. */
  verdicts: readonly VerdictPost[]
}

/** The statements that the ICL has acknowledged. After a restart only those that it is known to have. */
export type Taken = {
  answer?: AnswerPost | undefined
  delivery?: DeliveryPost | undefined
  /** The last verdict. */
  verdict?: VerdictPost | undefined
  /** The node that made the last delivery that this node posted or checked. */
  deliverer?: Address
}

type SealedOutput = {
  readonly key: OutputKey
  readonly blob: Uint8Array<ArrayBuffer>
  stored?: { readonly highHandle: bigint; readonly lowHandle: bigint } | undefined
}

/** The node's own state in a job after its commitment. It grows with each statement that the node signs. */
export type Own = Statements & {
  readonly taken: Taken
  /** The steps for which this run has an acknowledgement or a refusal of the ICL. */
  readonly acknowledged: Set<AckStep>
  readonly committed: Commitment
  readonly looked: Looked
  /** Its numbers of others' answers, and the work on them. */
  numbers?: NumbersPost | undefined
  weighing?: Promise<NumbersPost | undefined> | undefined
  /** The text of the answer, in memory only, so lost in a restart. */
  readonly text?: string | undefined
  /** The sealed answer, its key, and the key's handles on chain. Made once, however often the ICL asks. */
  output?: SealedOutput | undefined
  /** Receives the tokens of each call to the provider. */
  readonly onUsage: (usage: Usage) => void
  /** Returns the secrets for evidence of another node's output. */
  readonly secrets: (signal: AbortSignal) => Promise<JobSecrets>
}

/** A node's part in a job after its commitment. `signal` ends it. */
export type Part = {
  readonly deps: JobDeps
  readonly claim: ClaimResult
  readonly own: Own
  readonly signal: AbortSignal
}

/** Returns the outcome of a job that is over, by the last of the node's statements that the ICL has. */
export function endingOf(taken: Readonly<Taken>, why: string): Ending {
  const { answer, delivery, verdict, deliverer } = taken
  const by = { ...(deliverer && { deliverer }) }
  if (delivery && (!verdict || deliverer === delivery.address)) {
    return { outcome: 'result-posted', ...by }
  }
  if (verdict) {
    return { outcome: verdict.verdict, ...by, ...(verdict.reason && { reason: verdict.reason }) }
  }
  return { outcome: answer ? 'answered' : 'given-up', reason: why.slice(0, 1_000) }
}
