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
 * Sends a statement again, the same bytes, when the ICL has it (as the step that it names shows) but this node lacks the acknowledgement.
 * The response was lost, or the daemon was killed. Without it the node could not prove that it was in time. A refused statement is not sent
 * again.
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
  // The ICL lacks a statement that it asks for.
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
