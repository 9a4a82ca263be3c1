import { isStructured } from '../../lib/answer.ts'
import { elapsedSince } from '../../lib/clock.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { AnswerToWeigh, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { NumbersPost, NumbersStatement } from '../../lib/schemas/statements.ts'
import { openShown, sealShown } from '../../lib/sealing/shown.ts'
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

/** The longest time for the numbers: this node may have a delivery to check meanwhile. */
const mostMs = 30_000
// Kept for posting the commitment.
const reserveMs = 8_000

/** Shows this node's answer to the other nodes of the job, or says that its text is lost. Returns the next step if the ICL names it. */
export async function showAnswer({
  deps,
  claim,
  own,
  signal,
}: Part): Promise<OwnAssignment | undefined> {
  const { api, random } = deps
  const { jobId, fence } = claim
  if (own.text !== undefined && own.shown === undefined) {
    const { secret } = await own.secrets(signal)
    own.shown = await sealShown(own.text, { jobId, fence, secret }, random)
  }
  const cid = own.shown && (await uploadOutput(deps, claim, own.shown, signal))
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
  own.numbers ??= await numbersOf(part, to_weigh, Math.min(secondsLeft * 1000 - reserveMs, mostMs))
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
    throw new SvcError('answer-lost', 'the numbers of the answers were lost in a restart', {
      hint: 'The job settles without them.',
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
  const { address, clock, log, random, sessionKey } = deps
  const { jobId, fence } = claim
  const startedAt = clock.monotonic()
  const leftMs = () => limitMs - elapsedSince(clock, startedAt)
  const found = await Promise.all(
    answers.slice(0, weighersOfAnswer).map((one) =>
      withDeadline(clock, Math.max(limitMs, 0), signal, late, (ended) =>
        weighOne({ deps, claim, own, signal: ended }, one, leftMs),
      ).catch((error: unknown) => {
        signal.throwIfAborted()
        log.warning(`Job ${jobId}: An answer is not weighed: ${errorText(error)}`)
        return undefined
      }),
    ),
  )
  const weighed = found.filter((one) => one !== undefined)
  if (weighed.length === 0) return undefined
  const salt = toBase64Url(random.bytes(32))
  const statement = 'svc-numbers-v1'
  return await signed({ statement, jobId, address, fence, weighed, salt }, sessionKey)
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
  const mayCall = budget.begin({ jobId, fence: claim.fence }, mostRequests + weighersOfAnswer)
  const given = { model: offered.model, prompt, text, onUsage: own.onUsage, mayCall, signal }
  const told = await offered.provider.weigh({ ...given, leftMs })
  const score = await scoreOf(told, hash, key)
  if (score.n > parameters.max_output_tokens) return undefined
  log.info(messages.scored(jobId, score))
  return { answer: hash, score }
}
