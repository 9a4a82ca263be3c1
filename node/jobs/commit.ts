import { toBase64Url } from '../../lib/digest.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import { commitmentOf } from '../../lib/statements.ts'
import { messages } from '../log-messages.ts'
import { isIclAway } from './abort-reason.ts'
import { acknowledged } from './acknowledged.ts'
import type { Answer } from './answer.ts'
import type { JobDeps } from './job-deps.ts'
import type { Own } from './own.ts'

/** Commits to the answer's evidence; the lease ends here and the slot is free (spec 4). */
export async function commit(
  deps: JobDeps,
  claim: ClaimResult,
  { text, evidence, secrets }: Answer,
  onUsage: Own['onUsage'],
  signal: AbortSignal,
): Promise<Own> {
  const { jobId, fence } = claim
  const salt = toBase64Url(deps.random.bytes(32))
  const commitment = await commitmentOf({ jobId, address: deps.address, fence, evidence, salt })
  const commitmentStep = { evidence, salt, commitment }
  deps.journal.note({ step: 'committed', jobId, fence, ...commitmentStep })
  const own: Own = {
    committed: commitmentStep,
    text,
    onUsage,
    secrets: async () => secrets,
    verdicts: [],
    looked: new Map(),
    taken: {},
    acknowledged: new Set(),
  }
  try {
    await sendCommitment(deps, claim, own, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isIclAway(error)) throw error
    // The ICL may have it. What it says next shows whether it has to be sent again.
    deps.log.warning(messages.stepFailed(jobId, 'commit', errorText(error)))
  }
  return own
}

const commitAttempts = 5

/** Sends a commitment; sending the same one again changes nothing. */
export async function sendCommitment(
  deps: JobDeps,
  { jobId, fence }: Pick<ClaimResult, 'jobId' | 'fence'>,
  { committed: { commitment }, acknowledged: heard }: Pick<Own, 'committed' | 'acknowledged'>,
  signal: AbortSignal,
): Promise<void> {
  const expected = { jobId, fence, step: 'commit', bodyHash: commitment } as const
  await acknowledged(deps, expected, signal, () =>
    deps.api.commitAssignment(
      { body: { jobId, fence, commitment } },
      { signal, attempts: commitAttempts },
    ),
  )
  heard.add('commit')
  deps.log.step(messages.committed(jobId))
}
