import { toBase64Url } from '../../lib/digest.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult, OwnAssignment } from '../../lib/schemas/assignments.ts'
import { sealShown } from '../../lib/sealing/shown.ts'
import { commitmentOf } from '../../lib/statements.ts'
import { messages } from '../log-messages.ts'
import { isIclAway } from './abort-reason.ts'
import { acknowledged } from './acknowledged.ts'
import type { Answer } from './answer.ts'
import type { JobDeps } from './job-deps.ts'
import type { Own, Part } from './own.ts'

/** Makes the commitment to the answer's evidence and writes it to disk, before the ICL gets it. */
export async function bindTo(
  deps: JobDeps,
  claim: ClaimResult,
  { text, ended, usage, evidence, secrets }: Answer,
  onUsage: Own['onUsage'],
): Promise<Own> {
  const { jobId, fence } = claim
  const salt = toBase64Url(deps.random.bytes(32))
  const commitment = await commitmentOf({ jobId, address: deps.address, fence, evidence, salt })
  // Other nodes weigh it, also after a restart of this one.
  const sealed =
    claim.check && (await sealShown(text, { jobId, fence, secret: secrets.secret }, deps.random))
  const commitmentStep = {
    ...{ evidence, ended, ...(usage && { usage }), salt, commitment },
    ...(sealed && { sealed: toBase64Url(sealed) }),
  }
  deps.journal.note({ step: 'committed', jobId, fence, ...commitmentStep })
  return {
    committed: commitmentStep,
    text,
    onUsage,
    secrets: async () => secrets,
    verdicts: [],
    looked: new Map(),
    taken: {},
    acknowledged: new Set(),
  }
}

/** Commits to the answer's evidence. The lease ends when the ICL has the commitment (spec 4). Returns the next step if the ICL names it. */
export async function commit(part: Part): Promise<OwnAssignment | undefined> {
  const { deps, claim, signal } = part
  try {
    return await sendCommitment(part)
  } catch (error) {
    signal.throwIfAborted()
    if (!isIclAway(error)) throw error
    // The ICL may have the commitment. The next step that it names shows whether the node must send it again.
    deps.log.warning(messages.stepFailed(claim.jobId, 'commit', errorText(error)))
    return undefined
  }
}

const commitAttempts = 5

/** Sends a commitment to the ICL. Idempotent. */
export async function sendCommitment(part: Part): Promise<OwnAssignment | undefined> {
  const { deps, claim, own } = part
  const { jobId, fence } = claim
  const { commitment } = own.committed
  const body = { jobId, fence, commitment }
  const next = await acknowledged(part, {
    step: 'commit',
    bodyHash: commitment,
    post: (query, options) => deps.api.commitAssignment({ query, body }, options),
    attempts: commitAttempts,
  })
  deps.log.info(`Job ${jobId}: committed, waiting for the other nodes`)
  return next
}
