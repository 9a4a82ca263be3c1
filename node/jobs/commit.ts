import { toBase64Url } from '../../lib/digest.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { commitmentOf } from '../../lib/statements.ts'
import type { Commitment } from '../journal/steps.ts'
import { messages } from '../log-messages.ts'
import { acknowledged } from './acknowledged.ts'
import type { Answer } from './answer.ts'
import { callAttempts, type JobDeps } from './job-deps.ts'
import type { Own } from './own.ts'

/** Commits to the answer's evidence; the lease ends here and the slot is free (spec 4). */
export async function commit(
  deps: JobDeps,
  claim: ClaimResult,
  { text, evidence, secrets }: Answer,
  signal: AbortSignal,
): Promise<Own> {
  const { jobId, fence } = claim
  const salt = toBase64Url(deps.random.bytes(32))
  const commitment = await commitmentOf({ jobId, address: deps.address, fence, evidence, salt })
  const commitmentStep = { evidence, salt, commitment }
  deps.journal.note({ step: 'committed', jobId, fence, ...commitmentStep })
  await sendCommitment(deps, claim, commitmentStep, signal)
  return {
    committed: commitmentStep,
    text,
    secrets: async () => secrets,
    verdicts: [],
    looked: new Map(),
    taken: {},
  }
}

/** Sends a commitment; sending the same one again changes nothing. */
export async function sendCommitment(
  deps: JobDeps,
  { jobId, fence }: Pick<ClaimResult, 'jobId' | 'fence'>,
  { commitment }: Pick<Commitment, 'commitment'>,
  signal: AbortSignal,
): Promise<void> {
  const expected = { jobId, fence, step: 'commit', bodyHash: commitment } as const
  await acknowledged(deps, expected, signal, () =>
    deps.api.commitAssignment(
      { body: { jobId, fence, commitment } },
      { signal, attempts: callAttempts },
    ),
  )
  deps.log.info(messages.committed(jobId))
}
