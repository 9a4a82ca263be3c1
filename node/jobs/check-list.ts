import { elapsedSince } from '../../lib/clock.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { grantPatienceMs, type JobDeps } from './job-deps.ts'

const askAgainMs = 1_000

/**
 * Checks that the client chose this node: the node is on the list at its position, and PromptKeyStore holds the commitment to this list.
 * Waits `grantPatienceMs` for a commitment that is not on chain yet. Returns false when there is none: then only the owner of the key can
 * decrypt it, and the coprocessor will refuse. Throws SvcError `list-untrusted` or a chain error.
 */
export async function checkList(
  { address, chain, clock }: Pick<JobDeps, 'address' | 'chain' | 'clock'>,
  claim: ClaimResult,
  signal: AbortSignal,
): Promise<boolean> {
  const { jobId, client, list, position, activator, until } = claim
  if (list[position] !== address) throw untrusted(`where ${position} is not this node's position`)
  if (list.includes(client)) throw untrusted('with the client itself')
  const claimed = listCommitment({ jobId, activator, until, list })
  const beganAt = clock.monotonic()
  for (;;) {
    const { kpHighHandle, kpLowHandle } = claim
    const onChain = await chain.listCommitmentOf(kpHighHandle, kpLowHandle, signal)
    if (onChain === claimed) return true
    if (onChain !== undefined) throw untrusted('that is not the one on chain')
    if (elapsedSince(clock, beganAt) >= grantPatienceMs) return false
    await clock.sleep(askAgainMs, signal)
  }
}

export const untrusted = (which: string): SvcError =>
  new SvcError('list-untrusted', `the ICL gave a list of nodes ${which}`, {
    hint: 'If it stays, do not work for this ICL: it may want to choose who reads prompts.',
  })
