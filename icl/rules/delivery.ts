/*
 * Problem: the agreed answer has to reach the client, and any member of the agreement may be dead, or lie.
 *
 * Idea: the members take turns to deliver, in an order drawn from the salts of all answers. The first member puts its text
 * where the client and the other members can read it. The others open it and say whether it is the text behind the revealed
 * evidence. If it is not, or does not come, the next member delivers.
 *
 * Invariants:
 * - At most one turn is under way, and no member has two.
 * - A delivery names its node's own revealed answer. A verdict names its node's own answer and this delivery.
 * - Only verdicts of members of the agreement count. A tie settles (lib/delivery-rule.ts).
 * - A member gives up its part in one turn, by a statement that names this turn.
 * - A settled delivery stays settled: while numbers are opened (open-check.ts) nothing else of the turn changes.
 *
 * Failure cases: the deliverer aborts its turn or lets it lapse, the others refuse its output, or none of them can check it.
 * Then the next member delivers. After the last one the job is disputed (undelivered). A verdict that the evidence of the two
 * answers contradicts does not count, and proves a fault. So does a second, different statement for the same turn.
 */

import { settled } from '../../lib/delivery-rule.ts'
import { isRefuted } from '../../lib/fault.ts'
import { currentTurn } from './agreed.ts'
import { faultOf, withFault } from './faults.ts'
import {
  type Agreement,
  type Assignment,
  type Change,
  type Job,
  type JobLimits,
  recorded,
  type Transition,
  type Turn,
} from './job.ts'
import { type Opening, openedIn, unopened } from './open-check.ts'
import type { PostedDelivery, PostedStatement, PostedTurnAbort, PostedVerdict } from './posted.ts'
import { settle } from './settle.ts'

/** Starts the turn of the next member. Returns the same job when all members have had a turn. */
export function withTurn(job: Job, now: number, limits: JobLimits): Job {
  const fence = job.agreement?.order[job.agreement.turns.length]
  if (!job.agreement || fence === undefined) return job
  const turn: Turn = { fence, deadline: now + limits.deliverMs, verdicts: [], absent: [] }
  const turned = { ...job, agreement: { ...job.agreement, turns: [...job.agreement.turns, turn] } }
  return recorded(turned, now, 'to-deliver', { assignment: byFence(job, fence) })
}

const byFence = ({ assignments }: Job, fence: number): Assignment | undefined =>
  assignments.find((assignment) => assignment.fence === fence)

/** The job with its current turn changed. */
function withTurnChanged(job: Job, change: Partial<Turn>): Job {
  const { agreement } = job
  if (!agreement) return job
  const turns = agreement.turns.map((turn, index) =>
    index === agreement.turns.length - 1 ? { ...turn, ...change } : turn,
  )
  return { ...job, agreement: { ...agreement, turns } }
}

/** The members of the agreement other than the deliverer: they check its delivery. */
export const checkersOf = ({ group }: Agreement, { fence }: Turn): readonly number[] =>
  group.filter((member) => member !== fence)

/** Stores the delivery of the member whose turn it is, and starts the time to check. */
export function deliver(
  job: Job,
  assignment: Assignment,
  delivery: PostedDelivery,
  now: number,
  limits: JobLimits,
): Transition {
  const own = job.agreement?.turns.find(({ fence }) => fence === assignment.fence)
  if (own?.delivery) {
    if (own.delivery.hash === delivery.hash) return { job, effects: [] }
    return contradicted(job, assignment, [own.delivery, delivery], now)
  }
  if (!own || own !== currentTurn(job)) {
    return {
      refused: 'not-your-turn',
      detail: own ? 'The time to deliver is over' : 'Another node delivers, or nobody yet',
    }
  }
  if (delivery.body.answer !== assignment.answer?.hash) {
    return { refused: 'statement-mismatch', detail: 'The delivery names another answer' }
  }
  const delivered = withTurnChanged(job, {
    delivery,
    deliveredAt: now,
    deadline: now + limits.checkMs,
  })
  return { job: recorded(delivered, now, 'delivered', { assignment }), effects: [] }
}

/** Stores another node's verdict on the delivery. Verdicts from outside the agreement are kept, but do not count. */
export function postVerdict(
  job: Job,
  assignment: Assignment,
  verdict: PostedVerdict,
  now: number,
  limits: JobLimits,
): Transition {
  const known = verdictOn(job, assignment, verdict)
  if (known) {
    return known.hash === verdict.hash
      ? { job, effects: [] }
      : contradicted(job, assignment, [known, verdict], now)
  }
  const turn = currentTurn(job)
  if (turn?.opening) return { refused: 'job-settled', detail: 'The time to check is over' }
  const { answer } = assignment
  if (!answer) return { refused: 'not-revealed', detail: `The assignment is ${assignment.status}` }
  if (!turn?.delivery) return { refused: 'too-early', detail: 'There is no delivery to check' }
  if (verdict.body.delivery !== turn.delivery.hash) {
    return { refused: 'statement-mismatch', detail: 'The verdict is on another delivery' }
  }
  if (verdict.body.answer !== answer.hash || turn.fence === assignment.fence) {
    return { refused: 'statement-mismatch', detail: "The verdict does not name its node's answer" }
  }
  const deliverer = byFence(job, turn.fence)?.answer
  if (!deliverer) throw new TypeError('A deliverer has answered')
  if (isRefuted(deliverer.body, answer.body, verdict.body)) {
    const away = checked(absent(job, turn, assignment), now, limits)
    const proof = [deliverer, turn.delivery, answer, verdict]
    const faulted = withFault(away.job, assignment, 'verdict-refuted', proof, now)
    return faulted ? { job: faulted.job, effects: [...away.effects, ...faulted.effects] } : away
  }
  const detail = verdict.body.reason ?? verdict.body.verdict
  const said = withTurnChanged(job, { verdicts: [...turn.verdicts, verdict] })
  return checked(
    recorded(said, now, `verdict-${verdict.body.verdict}`, { assignment, detail }),
    now,
    limits,
  )
}

/** The node's earlier verdict on the same delivery, also if it was refuted. */
export function verdictOn(
  job: Job,
  { node, fence }: Assignment,
  { body }: PostedVerdict,
): PostedVerdict | undefined {
  const refuted = faultOf(job, 'verdict-refuted', fence)?.statements ?? []
  const counted = job.agreement?.turns.flatMap(({ verdicts }) => verdicts) ?? []
  return [...counted, ...refuted.filter(isVerdict)].find(
    (verdict) => verdict.body.address === node && verdict.body.delivery === body.delivery,
  )
}

const isVerdict = (posted: PostedStatement): posted is PostedVerdict =>
  posted.body.statement === 'svc-verdict-v2'

const absent = (job: Job, turn: Turn, { fence }: Assignment): Job =>
  turn.absent.includes(fence) ? job : withTurnChanged(job, { absent: [...turn.absent, fence] })

/**
 * A node with an answer gives up its turn to deliver, or says that it will not check. An abort of an earlier turn changes nothing, because
 * the node may have a part in the current one.
 */
export function abortTurn(
  job: Job,
  assignment: Assignment,
  abort: PostedTurnAbort,
  now: number,
  limits: JobLimits,
): Transition {
  if (!assignment.answer) {
    return { refused: 'not-revealed', detail: `The assignment is ${assignment.status}` }
  }
  const turn = currentTurn(job)
  const isOver = !turn || turn.opening
  if (isOver || !job.agreement || abort.body.turn !== job.agreement.turns.length - 1) {
    return { job, effects: [] }
  }
  if (turn.fence === assignment.fence) {
    const failed = { reason: abort.body.reason, abort }
    return turn.delivery ? { job, effects: [] } : nextTurn(job, turn, failed, now, limits)
  }
  if (!turn.delivery || !job.agreement.group.includes(assignment.fence)) return { job, effects: [] }
  return checked(absent(job, turn, assignment), now, limits)
}

/** The job after a check: settled, with the next member's turn, or unchanged while checks are outstanding. */
function checked(job: Job, now: number, limits: JobLimits): Change {
  const turn = currentTurn(job)
  if (!job.agreement || !turn?.delivery) return { job, effects: [] }
  const { verdicts, absent: away } = turn
  const checks = checkersOf(job.agreement, turn)
    .map((fence) => ({ fence, check: verdicts.find(({ body }) => body.fence === fence) }))
    .filter(({ fence, check }) => check !== undefined || !away.includes(fence))
    .map(({ check }) => check?.body.verdict)
  switch (settled(checks, now >= turn.deadline)) {
    case 'waiting':
      return { job, effects: [] }
    case 'settled':
      return opening(job, turn, now, limits)
    case 'failed': {
      const reason = checks.includes('no-match') ? 'output-refused' : 'never-checked'
      return nextTurn(job, turn, { reason }, now, limits)
    }
  }
}

/** Starts the time to open numbers, or accepts the job when no numbers are awaited. */
function opening(job: Job, turn: Turn, now: number, limits: JobLimits): Change {
  const isOver = turn.opening === true && now >= turn.deadline
  if (isOver || unopened(job, turn).length === 0) {
    return settle(job, 'accepted', 'quorum-agreed', now)
  }
  const change = { opening: true, deadline: now + limits.revealMs } as const
  return { job: turn.opening ? job : withTurnChanged(job, change), effects: [] }
}

/** Stores the numbers that a checker's verdict commits to. The last opening settles the job. */
export function openCheck(
  job: Job,
  assignment: Assignment,
  given: Opening,
  now: number,
  limits: JobLimits,
): Transition {
  const turn = openedIn(job, assignment, given)
  if ('refused' in turn) return turn
  if (turn === currentTurn(job)) return { job, effects: [] }
  return opening(withTurnChanged(job, turn), turn, now, limits)
}

function nextTurn(
  job: Job,
  { fence }: Turn,
  failed: Omit<NonNullable<Turn['failed']>, 'at'>,
  now: number,
  limits: JobLimits,
): Change {
  const over = withTurnChanged(job, { failed: { ...failed, at: now } })
  const noted = recorded(over, now, 'delivery-failed', {
    assignment: byFence(job, fence),
    detail: failed.reason,
  })
  const next = withTurn(noted, now, limits)
  return next === noted ? settle(noted, 'disputed', 'undelivered', now) : { job: next, effects: [] }
}

/** Ends a turn whose deadline has passed. The checks that came are counted. A missing delivery is held against the deliverer. */
export function lapseTurn(job: Job, now: number, limits: JobLimits): Change {
  const turn = currentTurn(job)
  if (!turn || now < turn.deadline) return { job, effects: [] }
  return turn.delivery
    ? checked(job, now, limits)
    : nextTurn(job, turn, { reason: 'never-delivered' }, now, limits)
}

/** Refuses a second statement that differs from a known one. It proves a fault of its node if the same session key signed both. */
const contradicted = (
  job: Job,
  assignment: Assignment,
  [first, second]:
    | readonly [PostedDelivery, PostedDelivery]
    | readonly [PostedVerdict, PostedVerdict],
  now: number,
): Transition => ({
  refused: 'already-answered',
  detail: 'The node gave another statement for this fence before',
  noted:
    first.session.key === second.session.key
      ? withFault(job, assignment, 'equivocated', [first, second], now)
      : undefined,
})
