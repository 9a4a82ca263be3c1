/*
 * Problem: the agreed answer has to reach the client, and any member of the agreement may be dead, or lie.
 *
 * Idea: the members take turns to deliver, those of the last batch first, and then by the list. The others open each delivery
 * and say whether it is the text behind the revealed evidence. If it is not, or does not come, the next member delivers.
 *
 * Invariants:
 * - At most one turn is under way, and no member has two.
 * - A delivery names its node's own revealed answer. A verdict names its node's own answer and this delivery.
 * - Only verdicts of members of the agreement count. A tie settles (lib/delivery-rule.ts).
 * - A settled delivery stays settled: while answers are weighed (weighing.ts) nothing of the turn changes.
 *
 * Failure cases: the deliverer aborts its turn or lets it lapse, the others refuse its output, or none of them can check it.
 * After the turn of the last member the job is disputed (undelivered). A verdict that the evidence of the two answers
 * contradicts does not count, and proves a fault. So does a second, different statement for the same turn.
 */

import { settled } from '../../lib/delivery-rule.ts'
import { isRefuted } from '../../lib/fault.ts'
import { currentTurn } from './agreed.ts'
import { repeated, withFault } from './faults.ts'
import {
  type Agreement,
  type Assignment,
  afterwards,
  byFence,
  type Change,
  changeTo,
  type Job,
  type Moment,
  recorded,
  refuse,
  type Transition,
  type Turn,
} from './job.ts'
import type { PostedDelivery, PostedTurnAbort, PostedVerdict } from './posted.ts'
import { acceptedWhenDone, settle } from './settle.ts'
import { withTimeToWeigh } from './weighing.ts'

/** Starts the turn of the next member. Returns the same job when all members have had a turn. */
export function withTurn(job: Job, { now, limits }: Moment): Job {
  const fence = job.agreement?.order[job.agreement.turns.length]
  if (!job.agreement || fence === undefined) return job
  const turn: Turn = { fence, deadline: now + limits.deliverMs, verdicts: [], absent: [] }
  const turned = { ...job, agreement: { ...job.agreement, turns: [...job.agreement.turns, turn] } }
  return recorded(turned, now, 'to-deliver', { assignment: byFence(job, fence) })
}

function withTurnChanged(job: Job, change: Partial<Turn>): Job {
  const { agreement } = job
  const last = agreement?.turns.at(-1)
  if (!agreement || !last) return job
  const turns = agreement.turns.with(-1, { ...last, ...change })
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
  { now, limits }: Moment,
): Transition {
  const own = job.agreement?.turns.find(({ fence }) => fence === assignment.fence)
  if (own?.delivery) return repeated(job, assignment, own.delivery, delivery, now)
  if (!own) return refuse('not-your-turn', 'Another node delivers, or nobody yet')
  if (own !== currentTurn(job)) return refuse('not-your-turn', 'The time to deliver is over')
  if (delivery.body.answer !== assignment.answer?.hash) {
    return refuse('statement-mismatch', 'The delivery names another answer')
  }
  const change = { delivery, deliveredAt: now, deadline: now + limits.checkMs }
  const delivered = withTimeToWeigh(withTurnChanged(job, change))
  return changeTo(recorded(delivered, now, 'delivered', { assignment }))
}

/** Stores another node's verdict on the delivery. Verdicts from outside the agreement are kept, but do not count. */
export function postVerdict(
  job: Job,
  assignment: Assignment,
  verdict: PostedVerdict,
  moment: Moment,
): Transition {
  const { now } = moment
  const known = verdictOn(job, assignment, verdict)
  if (known) return repeated(job, assignment, known, verdict, now)
  const turn = currentTurn(job)
  if (turn?.settled) return refuse('job-settled', 'The time to check is over')
  const { answer } = assignment
  if (!answer) return refuse('not-revealed', `The assignment is ${assignment.status}`)
  if (!turn?.delivery) return refuse('too-early', 'There is no delivery to check')
  if (verdict.body.delivery !== turn.delivery.hash) {
    return refuse('statement-mismatch', 'The verdict is on another delivery')
  }
  if (verdict.body.answer !== answer.hash || turn.fence === assignment.fence) {
    return refuse('statement-mismatch', "The verdict does not name its node's answer")
  }
  const deliverer = byFence(job, turn.fence)?.answer
  if (!deliverer) throw new TypeError('A deliverer has answered')
  if (isRefuted(deliverer.body, answer.body, verdict.body)) {
    const proof = [deliverer, turn.delivery, answer, verdict]
    const kept = withTurnChanged(job, { refuted: [...(turn.refuted ?? []), verdict] })
    return afterwards(
      checked(absent(kept, turn, assignment), moment),
      (away) => withFault(away, assignment, 'verdict-refuted', proof, now) ?? changeTo(away),
    )
  }
  const detail = verdict.body.reason ?? verdict.body.verdict
  const said = withTurnChanged(job, { verdicts: [...turn.verdicts, verdict] })
  const type = `verdict-${verdict.body.verdict}`
  return checked(recorded(said, now, type, { assignment, detail }), moment)
}

/** The node's earlier verdict on the same delivery, also if it was refuted. */
export function verdictOn(
  job: Job,
  { node }: Assignment,
  { body }: PostedVerdict,
): PostedVerdict | undefined {
  const turns = job.agreement?.turns ?? []
  return turns
    .flatMap(({ verdicts, refuted = [] }) => [...verdicts, ...refuted])
    .find((verdict) => verdict.body.address === node && verdict.body.delivery === body.delivery)
}

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
  moment: Moment,
): Transition {
  if (!assignment.answer) return refuse('not-revealed', `The assignment is ${assignment.status}`)
  const turn = currentTurn(job)
  const isOver = !turn || turn.settled
  if (isOver || !job.agreement || abort.body.turn !== job.agreement.turns.length - 1) {
    return changeTo(job)
  }
  if (turn.fence === assignment.fence) {
    const failed = { reason: abort.body.reason, abort }
    return turn.delivery ? changeTo(job) : nextTurn(job, turn, failed, moment)
  }
  if (!turn.delivery || !job.agreement.group.includes(assignment.fence)) return changeTo(job)
  return checked(absent(job, turn, assignment), moment)
}

/** The job after a check: settled, with the next member's turn, or unchanged while checks are outstanding. */
function checked(job: Job, moment: Moment): Change {
  const turn = currentTurn(job)
  if (!job.agreement || !turn?.delivery) return changeTo(job)
  const { verdicts, absent: away } = turn
  const checks = checkersOf(job.agreement, turn)
    .map((fence) => ({ fence, check: verdicts.find(({ body }) => body.fence === fence) }))
    .filter(({ fence, check }) => check !== undefined || !away.includes(fence))
    .map(({ check }) => check?.body.verdict)
  const outcome = settled(checks, moment.now >= turn.deadline)
  switch (outcome) {
    case 'waiting':
      return changeTo(job)
    case 'settled':
      return acceptedWhenDone(withTurnChanged(job, { settled: true }), moment.now)
    default:
      return nextTurn(job, turn, { reason: outcome }, moment)
  }
}

function nextTurn(
  job: Job,
  { fence }: Turn,
  failed: Omit<NonNullable<Turn['failed']>, 'at'>,
  moment: Moment,
): Change {
  const { now } = moment
  const over = withTurnChanged(job, { failed: { ...failed, at: now } })
  const about = { assignment: byFence(job, fence), detail: failed.reason }
  const noted = recorded(over, now, 'delivery-failed', about)
  const next = withTurn(noted, moment)
  return next === noted ? settle(noted, 'disputed', 'undelivered', now) : changeTo(next)
}

/** Ends a turn whose deadline has passed. The checks that came are counted. A missing delivery is held against the deliverer. */
export function lapseTurn(job: Job, moment: Moment): Change {
  const turn = currentTurn(job)
  if (!turn || turn.settled || moment.now < turn.deadline) return changeTo(job)
  return turn.delivery
    ? checked(job, moment)
    : nextTurn(job, turn, { reason: 'never-delivered' }, moment)
}
