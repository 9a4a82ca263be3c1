import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult, NextStep } from '../../lib/schemas/assignments.ts'
import { messages } from '../log-messages.ts'
import { isIclAway } from './abort-reason.ts'
import { sendCommitment } from './commit.ts'
import { postDelivery } from './deliver.ts'
import type { JobDeps } from './job-deps.ts'
import type { Own } from './own.ts'
import { reveal } from './reveal.ts'

/**
 * Sends again, the same bytes, what the ICL has by the step that it names, while its acknowledgement is missing: the response was lost, or the daemon
 * was killed before it came. Without it the node could not show that it was in time. A refusal is noted, and not asked for again.
 */
export async function fetchAcks(
  deps: JobDeps,
  claim: ClaimResult,
  own: Own,
  next: NextStep,
  signal: AbortSignal,
): Promise<void> {
  const { answer, delivery, acknowledged } = own
  const again = async (body: typeof delivery) =>
    body && (await postDelivery(deps, claim, own, body, signal))
  // The ICL asks for what it does not have.
  const sent = [
    ['commit', next !== 'work', () => sendCommitment(deps, claim, own, signal)],
    ['reveal', answer && !early.includes(next), () => reveal(deps, claim, own, signal)],
    ['result', delivery && next !== 'deliver', () => again(delivery)],
  ] as const
  for (const [step, isSent, send] of sent) {
    if (!isSent || acknowledged.has(step)) continue
    try {
      await send()
    } catch (error) {
      signal.throwIfAborted()
      deps.log.warning(messages.ackNotFetched(claim.jobId, step, errorText(error)))
      if (!isIclAway(error)) acknowledged.add(step)
    }
  }
}

const early: readonly NextStep[] = ['work', 'reveal']
