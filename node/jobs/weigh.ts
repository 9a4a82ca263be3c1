import { isStructured } from '../../lib/answer.ts'
import { elapsedSince } from '../../lib/clock.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { fromBase64Url, toBase64Url, utf8 } from '../../lib/digest.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { AnswerToWeigh, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { NumbersPost, NumbersStatement } from '../../lib/schemas/statements.ts'
import { openShown } from '../../lib/sealing/shown.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { scoreOf } from '../../lib/teacher.ts'
import { weighersOfAnswer } from '../../lib/weighing.ts'
import { messages } from '../log-messages.ts'
import { type Step, withNext } from './await-step.ts'
import { mostRequests } from './budget.ts'
import { checkShown } from './check-delivery.ts'
import { uploadOutput } from './deliver.ts'
import { callAttempts } from './job-deps.ts'
import type { Part } from './own.ts'
import { repeatPassing } from './wait-out.ts'

// Kept for posting the commitment.
const reserveMs = 8_000
/** How long the node waits for its model before it asks for its next step: it may have a delivery to check meanwhile. */
const glanceMs = 3_000
/** More bytes than any text of so many tokens has: a longer one is not paid for. */
const mostBytesPerToken = 64

/** Shows this node's answer to the other nodes of the job, or says that its text is lost. Returns the next step if the ICL names it. */
export async function showAnswer({
  deps,
  claim,
  own,
  signal,
}: Part): Promise<OwnAssignment | undefined> {
  const { api } = deps
  const { jobId, fence } = claim
  if (own.answer === undefined) {
    throw new SvcError('node-failed', 'the ICL wants an answer shown that was not revealed', {
      hint: 'Tell the operator of the ICL.',
    })
  }
  const { sealed } = own.committed
  const cid =
    sealed === undefined
      ? undefined
      : await uploadOutput(deps, claim, fromBase64Url(sealed), signal)
  const body = { jobId, fence, ...(cid !== undefined && { cid }) }
  const { query, timeoutMs } = withNext()
  const options = { signal, attempts: callAttempts, timeoutMs }
  return (await api.showAnswer({ query, body }, options)).next
}

/** Asks this node's model how likely the answers of two others are, and commits to the numbers. Returns the next step if the ICL names it. */
export async function weighAnswers(
  part: Part,
  { view: { to_weigh = [] }, secondsLeft }: Pick<Step, 'view' | 'secondsLeft'>,
): Promise<OwnAssignment | undefined> {
  const { deps, claim, own, signal } = part
  const { jobId, fence } = claim
  // A repeated step gets the same numbers.
  own.weighing ??= numbersOf(part, to_weigh, secondsLeft * 1000 - reserveMs).catch((error) => {
    deps.log.warning(`Job ${jobId}: No answer is weighed: ${errorText(error)}`)
    return undefined
  })
  const isDone = await Promise.race([
    own.weighing.then(() => true),
    deps.clock.sleep(glanceMs, signal).then(() => false),
  ])
  if (!isDone) return undefined
  own.numbers ??= await own.weighing
  const commitment = own.numbers && (await statementHash(own.numbers))
  const body = { jobId, fence, ...(commitment && { commitment }) }
  const { query, timeoutMs } = withNext()
  const options = { signal, attempts: callAttempts, timeoutMs }
  return (await deps.api.weighAnswers({ query, body }, options)).next
}

/** Opens the numbers that this node committed to. Returns the next step if the ICL names it. */
export async function openNumbers({
  deps: { api },
  own: { numbers },
  signal,
}: Part): Promise<OwnAssignment | undefined> {
  if (numbers === undefined) {
    throw new SvcError('node-failed', 'the ICL wants numbers opened that were not made', {
      hint: 'Tell the operator of the ICL.',
    })
  }
  const { query, timeoutMs } = withNext()
  const options = { signal, attempts: callAttempts, timeoutMs }
  return (await api.openNumbers({ query, body: numbers }, options)).next
}

async function numbersOf(
  { deps, claim, own, signal }: Part,
  answers: readonly AnswerToWeigh[],
  limitMs: number,
): Promise<NumbersPost | undefined> {
  const { address, clock, journal, log, random, sessionKey } = deps
  const { jobId, fence } = claim
  const startedAt = clock.monotonic()
  const leftMs = () => limitMs - elapsedSince(clock, startedAt)
  const weighed: NumbersStatement['weighed'] = []
  // One after the other: the node's slots have work of other jobs.
  for (const [at, one] of answers.slice(0, weighersOfAnswer).entries()) {
    const ownMs = leftMs() / (answers.length - at)
    const found = await withDeadline(clock, Math.max(ownMs, 0), signal, late, (ended) =>
      weighOne({ deps, claim, own, signal: ended }, one, leftMs),
    ).catch((error: unknown) => {
      log.warning(`Job ${jobId}: An answer is not weighed: ${errorText(error)}`)
    })
    if (found) weighed.push(found)
  }
  if (weighed.length === 0 || signal.aborted) return undefined
  const salt = toBase64Url(random.bytes(32))
  const about = { statement: 'svc-numbers-v1', jobId, address, fence } as const
  const numbers = await signed({ ...about, weighed, salt }, sessionKey)
  journal.note({ step: 'numbers', jobId, fence, numbers })
  return numbers
}

const late = (): SvcError =>
  new SvcError('deadline-too-close', 'an answer could not be weighed in time', {
    hint: 'The gateway or the provider may be slow.',
  })

/** Returns this node's numbers of one answer, without a score if its node showed another text, undefined if it has none. */
async function weighOne(
  { deps, claim, own, signal }: Part,
  { answer, cid }: AnswerToWeigh,
  leftMs: () => number,
): Promise<NumbersStatement['weighed'][number] | undefined> {
  const { models, budget, clock, log } = deps
  const { jobId, model_id, parameters } = claim
  const offered = models.get(model_id)
  if (!offered?.provider.weigh) return undefined
  await checkShown(deps, claim, answer)
  const { asked: prompt, key, secret, ...known } = await own.secrets(signal)
  // A tool call is sealed in another form than the model wrote it.
  if (isStructured(prompt)) return undefined
  const hash = await statementHash(answer.body)
  const ignore = () => {}
  const blob = await repeatPassing(clock, signal, ignore, () => deps.blobs.download(cid, signal))
  const text = await openShown(blob, { jobId, fence: answer.body.fence, secret }).catch(() => {})
  const comparator = comparators[claim.comparator]
  const isSame =
    text !== undefined &&
    comparator.reproduces(
      await comparator.evidenceOf({ text, key, ...known }),
      answer.body.evidence,
    )
  if (!isSame) return { answer: hash }
  const most = parameters.max_output_tokens
  if (utf8(text).length > most * mostBytesPerToken) return undefined
  const mayCall = budget.begin({ jobId, fence: claim.fence }, mostRequests + weighersOfAnswer)
  const given = { model: offered.model, prompt, text, onUsage: own.onUsage, mayCall, signal }
  const told = await offered.provider.weigh({ ...given, leftMs })
  const score = await scoreOf(told, hash, key)
  if (score.n > most) return undefined
  log.info(messages.scored(jobId, score))
  return { answer: hash, score }
}
