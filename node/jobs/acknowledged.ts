import type { Hash32 } from '../../lib/codecs.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { Acknowledged, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { Ack } from '../../lib/schemas/statements.ts'
import { verifySignature } from '../../lib/session-key.ts'
import { statementBytes } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import { withNext } from './await-step.ts'
import { type AssignmentId, callAttempts, type JobDeps } from './job-deps.ts'
import type { AckStep, Part } from './own.ts'

const tries = 3
const againMs = 2_000

/** A statement to send. */
export type Sent = {
  readonly step: AckStep
  /** The commitment itself, or the hash of the statement. The acknowledgement must name it. */
  readonly bodyHash: Hash32
  readonly post: (query: { wait: number }, options: CallOptions) => Promise<Acknowledged>
  /** Tries per post while the ICL is away. */
  readonly attempts?: number
}

type CallOptions = {
  readonly signal: AbortSignal
  readonly attempts: number
  readonly timeoutMs: number
}

type Deps = Pick<JobDeps, 'address' | 'iclKeys' | 'acks' | 'clock' | 'log'>

/**
 * Posts until the ICL acknowledges the statement, and keeps the acknowledgement, with which the node can prove later that it was in time.
 * Posts again, up to 3 times in all, when the acknowledgement is missing or wrong. Returns the next step if the ICL names it. Throws
 * SvcError `ack-invalid`, and what `post` throws.
 */
export async function acknowledged(
  { deps, claim: { jobId, fence }, own, signal }: Part,
  { step, bodyHash, post, attempts = callAttempts }: Sent,
): Promise<OwnAssignment | undefined> {
  const { query, timeoutMs } = withNext()
  for (let made = 1; ; made++) {
    try {
      const { ack, next } = await post(query, { signal, attempts, timeoutMs })
      await check(deps, { jobId, fence, step, bodyHash }, ack, signal)
      keep(deps, ack)
      own.acknowledged.add(step)
      return next
    } catch (error) {
      signal.throwIfAborted()
      const isWrong = error instanceof SvcError && wrong.includes(error.code)
      if (!isWrong || made >= tries) throw error
      deps.log.warning(
        `Job ${jobId}: the ICL did not acknowledge the ${step}, trying again: ${errorText(error)}`,
      )
      await deps.clock.sleep(againMs, signal)
    }
  }
}

// A response without an acknowledgement is an `icl-unexpected-answer`.
const wrong: readonly string[] = ['ack-invalid', 'icl-unexpected-answer']

async function check(
  { address, iclKeys }: Deps,
  { jobId, fence, step, bodyHash }: AssignmentId & Pick<Sent, 'step' | 'bodyHash'>,
  { body, key, signature }: Ack,
  signal: AbortSignal,
): Promise<void> {
  const isAboutIt =
    body.jobId === jobId &&
    body.address === address &&
    body.fence === fence &&
    body.step === step &&
    body.body_hash === bodyHash
  if (!isAboutIt) throw invalid('is about something else')
  if (!(await iclKeys.has(key, signal)))
    throw invalid('is signed by a key that it does not publish')
  if (!(await verifySignature(key, signature, statementBytes(body)))) {
    throw invalid('has a wrong signature')
  }
}

function keep({ acks, log }: Deps, ack: Ack): void {
  try {
    acks.keep(ack)
  } catch (error) {
    // The job does not depend on the acknowledgement.
    log.warning(messages.notRecorded(ack.body.jobId, errorText(error)))
  }
}

const invalid = (how: string): SvcError =>
  new SvcError('ack-invalid', `the acknowledgement of the ICL ${how}`, {
    hint: 'Tell the operator of the ICL: its replicas may have different keys or versions.',
  })
