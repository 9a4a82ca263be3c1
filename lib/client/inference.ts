import { causes, isCause, remedyFor, whatOf } from '../causes.ts'
import type { Address, Hash32, JobId } from '../codecs.ts'
import type { EncryptStep } from '../coprocessor/coprocessor.ts'
import { errorMessage } from '../error-message.ts'
import type { AnswerDocument, Ended, Usage } from '../schemas/answer.ts'
import type {
  AssignmentReason,
  DeliveryReason,
  JobReason,
  JobView,
  Verdict,
  VerdictReason,
} from '../schemas/jobs.ts'
import type { Receipt } from '../schemas/receipt.ts'
import { SvcError } from '../svc-error.ts'
import type { Attested } from '../teacher.ts'
import type { Agreed } from './agreed.ts'
import type { Timings } from './steps.ts'

/** The verdict of one node on the delivered answer. */
export type NodeVerdict = {
  readonly node: Address
  readonly verdict: Verdict
  readonly reason?: VerdictReason
}

/** The proof that the prompt key's encryption took; milliseconds of its last attempt. */
export type ProofTimings = {
  readonly bytes: number
  readonly stepsMs: Readonly<Record<EncryptStep, number>>
}

type Common = {
  readonly jobId: JobId
  /** Reads the job, its record and its receipt, without a wallet. */
  readonly readToken: string
  readonly model: string
  readonly verdicts: readonly NodeVerdict[]
  readonly timingsMs: Timings
  /** Left out where no proof was made: on a local chain of the id 31337, or because the key was stored ahead. */
  readonly proof?: ProofTimings
}

/** An answer that the quorum agreed on and that this client has checked. */
export type AcceptedInference = Common & {
  readonly status: 'accepted'
  /** The answer as it was sealed: a text, or an answer document in canonical JSON where the prompt has tools or asks for JSON. */
  readonly output: string
  /** The answer document, where `output` is one. */
  readonly answer?: AnswerDocument
  /** How the model ended it: by its document, else by the deliverer's word. */
  readonly ended: Ended
  /** The tokens as providers counted them, by the word of the nodes that agree (`usageIn`). */
  readonly usage?: Usage
  /** The node that delivered. */
  readonly deliverer: Address
  readonly agreed: Agreed
  /** How likely the answer is under the models of two other nodes, if that was asked for. It counts for nodes' weights, and not for the agreement. */
  readonly attested?: readonly Attested[]
  readonly commitTx: Hash32
  readonly receiptHash: Hash32
  readonly receipt: Receipt
}

/** An answer that this client has checked, but has not seen on chain. */
export type UncommittedInference = Omit<AcceptedInference, 'commitTx'>

/** A checked answer whose commitment is late or cannot be read; has the answer and the reason. */
export class UncommittedError extends SvcError {
  readonly inference: UncommittedInference

  constructor(inference: UncommittedInference, cause: SvcError) {
    super(cause.code, cause.message, { hint: cause.hint, retryable: cause.retryable, cause })
    this.inference = inference
  }
}

/**
 * An accepted answer that could not be fetched, decrypted and checked in `collectTimeoutMs`, or for which a wallet did not sign. It
 * is paid for. `collect` tries again, and throws as `infer` does. In another process the client's `open` does, with the wallet and `jobId`.
 */
export class UncollectedError extends SvcError {
  readonly jobId: JobId
  readonly collect: (signal?: AbortSignal) => Promise<AcceptedInference>

  constructor(cause: SvcError, jobId: JobId, collect: UncollectedError['collect']) {
    const hint = `${cause.hint} The answer of the job ${jobId} is paid for. A program can fetch it by \`collect\` of this error, or later by \`open\` of the client. Another run pays again.`
    super(cause.code, cause.message, { hint, retryable: cause.retryable, cause })
    this.jobId = jobId
    this.collect = collect
  }
}

/**
 * A client has given up on a job, or was aborted, after the first node had committed: the job continues. The client's `open` fetches its
 * answer. Has the code of the cause.
 */
export class GoesOnError extends SvcError {
  readonly jobId: JobId

  constructor(cause: unknown, jobId: JobId) {
    const { code, retryable } =
      cause instanceof SvcError ? cause : { code: 'too-late-to-cancel', retryable: false }
    const message = `${errorMessage(cause)}. The job ${jobId} continues, because a node has committed to its answer`
    const hint = `An accepted answer is paid for: \`open\` of the client, or \`--open ${jobId}\` of the command, fetches it. Another run pays again.`
    super(code, message, { hint, retryable, cause })
    this.jobId = jobId
  }
}

/** A job that ended without an answer. */
export type FailedInference = Common & {
  readonly status: 'disputed' | 'expired' | 'cancelled'
  readonly reason: JobReason | undefined
  /** What ended it for most of its nodes; of a job that is `undelivered`, their turns to deliver. */
  readonly cause: AssignmentReason | DeliveryReason | undefined
  /** The seconds until the first of the nodes with this cause can answer, if their providers said so. */
  readonly retryAfterSeconds?: number | undefined
  /** The node that was to deliver, once answers agreed. */
  readonly deliverer: Address | undefined
}

/** How a job ended. */
export type Inference = AcceptedInference | FailedInference

/** The deliverer of a job and the verdicts, as the ICL tells them. */
export function toldBy({ quorum, agreement }: Pick<JobView, 'quorum' | 'agreement'>): {
  readonly deliverer: Address | undefined
  readonly verdicts: readonly NodeVerdict[]
} {
  const verdicts = quorum.flatMap(({ node, verdict, verdict_reason: reason }) =>
    verdict === undefined ? [] : [{ node, verdict, ...(reason && { reason }) }],
  )
  return { deliverer: agreement?.deliverer, verdicts }
}

/** How a job ended without an answer, by the ICL's word. Throws TypeError for a job that has not. */
export const endedWithout = (
  view: JobView,
): Omit<FailedInference, 'jobId' | 'readToken' | 'timingsMs' | 'proof'> => ({
  status: settledWithoutAnswer(view),
  reason: view.reason,
  ...(view.reason === 'undelivered'
    ? {
        cause: commonOf(view.quorum.map(({ node, delivery_reason: reason }) => ({ node, reason }))),
      }
    : { cause: commonReason(view), retryAfterSeconds: shortestWait(view) }),
  model: view.model_id,
  ...toldBy(view),
})

function settledWithoutAnswer({ status }: JobView) {
  switch (status) {
    case 'disputed':
    case 'expired':
    case 'cancelled':
      return status
    default:
      throw new TypeError(`A job that is ${status} has not failed`)
  }
}

const usualReasons = {
  disputed: 'quorum-disagreed',
  expired: 'deadline-passed',
  cancelled: 'cancelled-by-client',
} as const satisfies Record<FailedInference['status'], JobReason>

/** A failed inference as SvcError: of the cause for which nodes gave the job back, else `job-disputed`, `job-expired` or `job-cancelled`. */
export function inferenceError(failed: FailedInference): SvcError {
  const { status, reason, cause, model, retryAfterSeconds } = failed
  if (status === 'expired' && cause !== undefined && causes[cause].who !== 'nobody') {
    return jobError(model, cause, retryAfterSeconds)
  }
  const known = reason !== undefined && isCause(reason) ? reason : usualReasons[status]
  const why = known === 'undelivered' ? cause : undefined
  const what = [known, why].flatMap((code) => (code ? whatOf(code, model) : []))
  const hints = [known, why].flatMap((code) => (code ? remedyFor('client', code, model) : []))
  return new SvcError(`job-${status}`, `The job has no answer: ${what.join(': ')}`, {
    hint: hints.join(' '),
    retryable: status !== 'cancelled',
  })
}

/** Returns the error that says why a job finds no nodes, from the reasons that ended its assignments. */
export function stuckJobError(view: JobView): SvcError {
  const reason = commonReason(view)
  if (reason === undefined || causes[reason].who === 'nobody') {
    const known = reason === undefined ? '' : ` (last reason: ${reason})`
    return new SvcError('not-enough-nodes', `No node is left that can do the job${known}`, {
      hint: remedyFor('client', 'not-enough-nodes'),
      retryable: true,
    })
  }
  return jobError(view.model_id, reason, shortestWait(view))
}

/** Returns the error of a cause, with the cause's own code. */
function jobError(
  model: string,
  reason: AssignmentReason | DeliveryReason,
  retryAfterSeconds: number | undefined,
): SvcError {
  const { who, passes } = causes[reason]
  const remedy = remedyFor('client', reason, model)
  const canRepeat = passes === true && who === 'node operator'
  const later = retryAfterSeconds === undefined ? '' : ` in ${retryAfterSeconds} s`
  return new SvcError(reason, `No node could do the job: ${whatOf(reason, model)}`, {
    hint: canRepeat ? `Run the job again${later}: it draws nodes anew. ${remedy}` : remedy,
    retryable: passes === true && who !== 'client',
    retryAfterSeconds,
  })
}

/** Returns the reason for which most nodes of a job gave it back or lost it. */
const commonReason = ({ quorum }: Pick<JobView, 'quorum'>): AssignmentReason | undefined =>
  commonOf(quorum)

/** Returns the shortest wait that nodes named with the reason that ended most of a job's assignments. */
function shortestWait({ quorum }: Pick<JobView, 'quorum'>): number | undefined {
  const common = commonReason({ quorum })
  const waits = quorum.flatMap(({ reason, retry_after: wait }) =>
    reason === common && wait !== undefined ? [wait] : [],
  )
  return waits.length === 0 ? undefined : Math.min(...waits)
}

/**
 * Returns the reason that most nodes have; of as many, one that the client can mend. A node that tried again counts once. Reasons that
 * nobody has to mend count only where there is no other.
 */
function commonOf<R extends AssignmentReason | DeliveryReason>(
  ended: readonly { readonly node: Address; readonly reason?: R | undefined }[],
): R | undefined {
  const nodes = new Map<R, Set<Address>>()
  for (const { node, reason } of ended) {
    if (reason !== undefined) nodes.set(reason, (nodes.get(reason) ?? new Set()).add(node))
  }
  const rank = (reason: R): number =>
    (nodes.get(reason)?.size ?? 0) + (causes[reason].who === 'client' ? 0.5 : 0)
  const byRank = [...nodes.keys()].sort((a, b) => rank(b) - rank(a))
  return byRank.find((reason) => causes[reason].who !== 'nobody') ?? byRank[0]
}
