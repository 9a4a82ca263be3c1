import { errorText } from '../../lib/host/explain-error.ts'
import type { NextStep } from '../../lib/schemas/assignments.ts'
import { isIclAway } from './abort-reason.ts'
import { sendCommitment } from './commit.ts'
import { postDelivery } from './deliver.ts'
import type { Part } from './own.ts'
import { reveal } from './reveal.ts'

/**
 * Sends a statement again, the same bytes, when the ICL has it (as the step that it names shows) but this node lacks the acknowledgement.
 * The response was lost, or the daemon was killed. Without it the node could not prove that it was in time. A refused statement is not sent
 * again.
 */
export async function fetchAcks(part: Part, next: NextStep): Promise<void> {
  const { deps, claim, own, signal } = part
  const { answer, delivery, acknowledged } = own
  // The ICL lacks a statement that it asks for.
  const sent = [
    ['commit', next !== 'work', () => sendCommitment(part)],
    ['reveal', answer && !early.includes(next), () => reveal(part)],
    [
      'result',
      delivery && next !== 'deliver',
      async () => delivery && (await postDelivery(part, delivery)),
    ],
  ] as const
  for (const [step, isSent, send] of sent) {
    if (!isSent || acknowledged.has(step)) continue
    try {
      await send()
    } catch (error) {
      signal.throwIfAborted()
      deps.log.warning(
        `Job ${claim.jobId}: the acknowledgement of the ${step} is missing: ${errorText(error)}`,
      )
      if (!isIclAway(error)) acknowledged.add(step)
    }
  }
}

const early: readonly NextStep[] = ['work', 'reveal']
