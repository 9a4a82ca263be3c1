import { elapsedSince } from '../../lib/clock.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { DeliveryToCheck, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { AnswerPost, VerdictPost } from '../../lib/schemas/statements.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { type Step, withNext } from './await-step.ts'
import { check, type Verification } from './check.ts'
import { checkDelivery, untrusted } from './check-delivery.ts'
import { callAttempts } from './job-deps.ts'
import type { Part } from './own.ts'
import { noteSigned } from './signed-before.ts'

const minPostMs = 5_000

const differences = { 'no-match': 'different-answer', inconclusive: 'inconclusive' } as const

/**
 * Signs and posts this node's verdict on another node's delivery, once, and sends the same bytes each time. Where the answers differ, the
 * evidence decides, else the output if the step is `check`, else there is no verdict. So a verdict never contradicts what both answers
 * show. Returns the next step if the ICL names it.
 */
export async function judge(
  part: Part,
  { step, view: { to_check }, secondsLeft }: Pick<Step, 'step' | 'view' | 'secondsLeft'>,
): Promise<OwnAssignment | undefined> {
  const { deps, claim, own, signal } = part
  const { api, clock, log } = deps
  const startedAt = clock.monotonic()
  const { answer } = own
  if (to_check === undefined || answer === undefined) throw untrusted('is missing')
  const delivery = await statementHash(to_check.delivery.body)
  let verdict = own.verdicts.find((earlier) => earlier.delivery === delivery)
  if (verdict === undefined) {
    await checkDelivery(deps, claim, own.looked, to_check)
    const found = await look(part, answer, step, to_check, secondsLeft)
    if (found === undefined) return undefined
    const about = { answer: await statementHash(answer), delivery }
    verdict = await signVerdict(part, about, found)
    own.verdicts = [...own.verdicts, verdict]
  }
  const body = verdict
  const leftMs = Math.max(secondsLeft * 1000 - elapsedSince(clock, startedAt), minPostMs)
  const { query, timeoutMs } = withNext((leftMs - minPostMs) / 1000)
  const { next } = await withDeadline(clock, leftMs, signal, tooLate, (ended) =>
    api.postVerdict({ query, body }, { signal: ended, attempts: callAttempts, timeoutMs }),
  )
  own.taken.verdict = body
  own.taken.deliverer = to_check.delivery.body.address
  log.info(
    `Job ${claim.jobId}: Verdict: ${body.verdict}${body.reason === undefined ? '' : ` (${body.reason})`}`,
  )
  return next
}

async function look(
  { deps, claim, own, signal }: Part,
  ownAnswer: AnswerPost,
  step: Step['step'],
  { delivery: { body: delivery }, answer: { body: answer } }: DeliveryToCheck,
  secondsLeft: number,
): Promise<Verification | undefined> {
  const comparator = comparators[claim.comparator]
  // The verdict names the signed answer, whose evidence alone may refute it.
  const compared = comparator.compare(answer.evidence, ownAnswer.evidence)
  if (compared !== 'match') return { verdict: 'no-match', reason: differences[compared] }
  if (step !== 'check') return undefined
  const { evidence } = answer
  return await check(deps, claim, own.secrets, { ...delivery, evidence }, secondsLeft, signal)
}

async function signVerdict(
  { deps: { address, sessionKey, journal }, claim: { jobId, fence } }: Part,
  about: Pick<VerdictPost, 'answer' | 'delivery'>,
  { verdict, reason }: Verification,
): Promise<VerdictPost> {
  const post = await signed(
    {
      statement: 'svc-verdict-v2',
      jobId,
      address,
      fence,
      ...about,
      verdict,
      ...(reason !== undefined && { reason }),
    },
    sessionKey,
  )
  // After a restart the node sends these same bytes again.
  noteSigned(journal, { step: 'verdict', jobId, fence, verdict: post })
  return post
}

const tooLate = (): SvcError =>
  new SvcError('icl-unreachable', 'the ICL did not take the verdict in time', {
    hint: 'It may be away. The node asks again.',
    retryable: true,
  })
