import { isStructured } from '../../lib/answer.ts'
import type { Hash32 } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { checkCommitmentOf, scoreOf } from '../../lib/teacher.ts'
import { messages } from '../log-messages.ts'
import { withNext } from './await-step.ts'
import { callAttempts } from './job-deps.ts'
import type { Part } from './own.ts'

// Kept for signing and posting the verdict, which counts more.
const reserveMs = 8_000

/** The hash of a delivery, and its output if that matched the revealed answer. */
type Delivered = {
  readonly delivery: Hash32
  /** The hash of the deliverer's answer statement. */
  readonly answer: Hash32
  readonly output: string | undefined
}

/**
 * Asks this node's model how likely a delivered text is, if the job's terms ask for it, and keeps the score until the node opens it.
 * Returns the commitment to the score, or undefined without one: no verdict waits for a score or fails by it.
 */
export async function scoreDelivery(
  { deps, claim, own, signal }: Part,
  { delivery, answer, output }: Delivered,
  leftMs: () => number,
): Promise<Hash32 | undefined> {
  const { address, models, budget, random, log } = deps
  const { jobId, fence, check, model_id, parameters } = claim
  const offered = models.get(model_id)
  if (check !== 'teacher/1' || output === undefined || !offered?.provider.weigh) return undefined
  try {
    const { asked: prompt, key } = await own.secrets(signal)
    // A tool call is sealed in another form than the model wrote it.
    if (isStructured(prompt)) return undefined
    const mayCall = budget.begin({ jobId, fence })
    const told = await offered.provider.weigh({
      ...{ model: offered.model, prompt, text: output, onUsage: own.onUsage, mayCall, signal },
      leftMs: () => leftMs() - reserveMs,
    })
    const score = await scoreOf(told, answer, key)
    if (score.n > parameters.max_output_tokens) return undefined
    const salt = toBase64Url(random.bytes(32))
    own.scored = { salt, score }
    log.info(messages.scored(jobId, score))
    return await checkCommitmentOf({ jobId, address, fence, delivery, score, salt })
  } catch (error) {
    signal.throwIfAborted()
    log.warning(`Job ${jobId}: The delivered text is not scored: ${errorText(error)}`)
    return undefined
  }
}

/** Opens the score that the verdict commits to. Returns the next step if the ICL names it. */
export async function openScore({
  deps: { api },
  claim: { jobId, fence },
  own: { scored },
  signal,
}: Part): Promise<OwnAssignment | undefined> {
  if (scored === undefined) {
    throw new SvcError('answer-lost', 'the numbers of the delivered text were lost in a restart', {
      hint: 'The job settles without them.',
    })
  }
  const body = { jobId, fence, ...scored }
  const { query, timeoutMs } = withNext()
  const opened = await api.openCheck({ query, body }, { signal, attempts: callAttempts, timeoutMs })
  return opened.next
}
