import { answersOf, quotaOfJob } from '../../../icl/rules/agreed.ts'
import type { Command } from '../../../icl/rules/commands.ts'
import { isHeld, isSettled, type Job, type JobLimits } from '../../../icl/rules/job.ts'
import { commitmentsOf } from '../../../icl/rules/seats.ts'
import { shownJob } from '../../../icl/rules/shown-job.ts'
import { toWeigh } from '../../../icl/rules/weighed.ts'
import { decide } from '../../../lib/agreement-rule.ts'
import { take } from './sample-job.ts'

// Plain errors: millions of calls of `expect` would take minutes.
function promise(holds: boolean, what: string, job: Job): void {
  if (holds) return
  const about = JSON.stringify(job, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  throw new Error(`${what}: ${about}`)
}

/** What holds of each job, and of each step of it. */
export function checkStep(before: Job, after: Job): void {
  promise(!isSettled(before.phase), 'a settled job never changes', before)
  promise(before.phase === 'open' || after.phase !== 'open', 'no phase goes back', after)
  promise(isSettled(after.phase) === (after.tickAt === undefined), 'it is looked at again', after)
  promise((after.tickAt ?? 0) <= after.deadline, 'its deadline is its last time', after)
  checkSeats(before, after)
  checkShownCommitments(before, after)
  checkTurns(before, after)
  checkKeys(after)
  checkReplay(after)
  if (isSettled(after.phase)) checkScores(after)
}

/** Else no receipt holds (lib/receipt/signed.ts). */
function checkKeys(job: Job): void {
  const turns = job.agreement?.turns ?? []
  const said = [
    ...job.assignments.map(({ answer }) => answer),
    ...turns.flatMap(({ delivery, verdicts, failed }) => [delivery, ...verdicts, failed?.abort]),
  ].flatMap((posted) => posted ?? [])
  const owners = new Map(said.map(({ session, body }) => [session.key, body.address]))
  promise(
    said.every(({ session, body }) => owners.get(session.key) === body.address),
    'a session key signs for one node',
    job,
  )
}

/** The commitments that nodes were shown once, which they sign, stay as they are. */
function checkShownCommitments(before: Job, after: Job): void {
  const all = (job: Job) =>
    job.assignments.map(({ batch }) => JSON.stringify(commitmentsOf(job, batch)))
  const now = all(after)
  const stay = all(before).every((shown, at) => shown === '[]' || shown === now[at])
  promise(stay, 'what nodes have seen stays', after)
}

function checkSeats(before: Job, after: Job): void {
  const held = after.assignments.filter(({ status }) => isHeld(status))
  promise(new Set(held.map(({ seat }) => seat)).size === held.length, 'a seat has one node', after)
  const committed = after.assignments.filter(({ commitment }) => commitment !== undefined)
  const nodes = new Set(committed.map(({ node }) => node))
  promise(nodes.size === committed.length, 'a node commits once', after)
  promise(
    after.assignments.every(({ fence }, at) => fence === at + 1 && fence < after.nextFence),
    'fences rise',
    after,
  )
  for (const { fence, answer, commitment } of before.assignments) {
    const now = after.assignments.find((assignment) => assignment.fence === fence)
    promise(answer === undefined || now?.answer === answer, 'an answer stays', after)
    promise(commitment === undefined || now?.commitment === commitment, 'a commitment stays', after)
  }
  promise(answersOf(after).length <= quotaOfJob(after).maxAnswers, 'no answer is too many', after)
}

function checkTurns(before: Job, after: Job): void {
  const { group = [], order = [], turns = [] } = after.agreement ?? {}
  promise(order.toSorted().join() === group.toSorted().join(), 'the members deliver', after)
  promise(
    turns.every(({ fence }, at) => fence === order[at]),
    'each in its turn',
    after,
  )
  promise(
    turns.slice(0, -1).every(({ failed }) => failed),
    'one turn is open',
    after,
  )
  for (const [at, { failed, delivery, settled, verdicts }] of (
    before.agreement?.turns ?? []
  ).entries()) {
    promise(!failed || turns[at] === before.agreement?.turns[at], 'a failed turn stays', after)
    promise(!delivery || turns[at]?.delivery === delivery, 'a delivery stays', after)
    promise(!settled || turns[at]?.verdicts === verdicts, 'no verdict comes after the end', after)
    promise(!settled || !turns[at]?.failed, 'what settled does not fail', after)
  }
}

/** What the answers decide when they are replayed batch by batch, as a receipt's are. */
function replayed(job: Job): readonly number[] | 'disputed' | 'more' {
  const answers = answersOf(job)
  let missing = quotaOfJob(job).quorum
  for (let batch = 0; ; batch++) {
    const seen = commitmentsOf(job, batch)
    if (seen.length === 0) return 'more'
    promise(seen.length === missing, 'a batch has as many nodes as are missing', job)
    const upTo = answers.filter((answer) => answer.batch <= batch)
    missing = seen.length - upTo.filter((answer) => answer.batch === batch).length
    if (missing > 0) continue
    const decision = decide(
      upTo,
      (one, other) => one.answer.body.evidence.digest === other.answer.body.evidence.digest,
      quotaOfJob(job),
    )
    if (decision.outcome === 'more') {
      missing = decision.count
      continue
    }
    promise(commitmentsOf(job, batch + 1).length === 0, 'nobody is asked in vain', job)
    return decision.outcome === 'accepted'
      ? decision.group.map(({ fence }) => fence)
      : decision.outcome
  }
}

function checkReplay(job: Job): void {
  const decision = replayed(job)
  const { agreement, phase, reason } = job
  if (agreement) {
    promise(String(decision) === String(agreement.group), 'the answers agree as they did', job)
  } else {
    promise(typeof decision === 'string', 'agreement is seen', job)
  }
  if (phase === 'accepted') {
    const { delivery, verdicts = [] } = agreement?.turns.at(-1) ?? {}
    const checks = verdicts.filter(({ body }) => agreement?.group.includes(body.fence))
    const matches = checks.filter(({ body }) => body.verdict === 'match').length
    promise(delivery !== undefined, 'what is accepted was delivered', job)
    promise(matches >= 1 && matches >= checks.length - matches, 'and borne out', job)
  }
  if (phase === 'disputed') {
    const isUndelivered = agreement?.turns.length === agreement?.group.length
    promise(reason === 'undelivered' ? isUndelivered : !agreement, 'a dispute has a cause', job)
  }
}

/** Codes that blame a member of the agreement for what it did after its answer. */
const blames: readonly string[] = [
  'never-delivered',
  'output-refused',
  'never-checked',
  'verdict-outvoted',
]

/** Whether a member left it to others to deliver or to check: then its answer is worth nothing to it. */
const leftToOthers = ({ agreement }: Job, fence: number, scores: readonly string[]): boolean =>
  scores.some((code) => blames.includes(code)) ||
  agreement?.turns.some(
    (turn) =>
      turn.absent.includes(fence) ||
      (turn.fence === fence && turn.failed && turn.failed.reason !== 'never-checked'),
  ) === true

/** Whether a node showed no answer in time although another did. */
const isUnshown = ({ weighing }: Job, fence: number): boolean =>
  weighing !== undefined &&
  weighing.step !== 'show' &&
  weighing.shown.length > 0 &&
  !weighing.shown.some((one) => one.fence === fence)

/** Whether a node had answers to weigh, and opened no numbers although two others opened theirs of one answer. */
function leftToWeigh(job: Job, fence: number): boolean {
  const { step, opened = [] } = job.weighing ?? {}
  const isOpened = opened.some(({ body }) => body.fence === fence)
  const answers = opened.flatMap(({ body }) => body.weighed.map(({ answer }) => answer))
  const isBorneOut = new Set(answers).size < answers.length
  return step === 'over' && isBorneOut && !isOpened && toWeigh(job, fence).length > 0
}

/** A settled job scores each answer once, by the agreement that its answers make, and no other assignment for an answer. */
function checkScores(job: Job): void {
  const decision = replayed(job)
  for (const { fence, answer, scores = [] } of job.assignments) {
    const codes = scores.filter((code) => code.startsWith('answer-') || code === 'never-shown')
    promise(codes.length === (answer ? 1 : 0), 'an answer is scored once', job)
    const [code] = codes
    if (!code) continue
    const isDeliverer = job.phase === 'accepted' && job.agreement?.turns.at(-1)?.fence === fence
    const agreed = isDeliverer ? 'answer-delivered' : 'answer-agreed'
    const isIdle = leftToOthers(job, fence, scores) || leftToWeigh(job, fence)
    const member = isIdle ? 'answer-undecided' : agreed
    const outside = typeof decision === 'string' ? 'answer-undecided' : 'answer-differed'
    const isMember = typeof decision !== 'string' && decision.includes(fence)
    const wanted = isUnshown(job, fence) ? 'never-shown' : isMember ? member : outside
    promise(code === wanted, `it is scored ${wanted}, not ${code}`, job)
  }
}

/** A running job is looked at again in time, and each look leaves a later time for the next; its deadline ends it. */
export function checkEnd(job: Job, tick: Command, limits: JobLimits): void {
  const at = job.tickAt ?? 0
  const next = take(job, tick, at, limits)
  promise(isSettled(next.phase) || (next.tickAt ?? 0) > at, 'a look is not in vain', job)
  promise(isSettled(take(job, tick, job.deadline, limits).phase), 'the deadline ends it', job)
}

const looks = new WeakMap<Job, string>()

/** How a job looks to anybody; its list, which never changes, and what only its ICL sees are left out. */
function look(job: Job): string {
  const known = looks.get(job)
  if (known !== undefined) return known
  const {
    list: _,
    nextFence: __,
    nextEffect: ___,
    tickAt: ____,
    fillAt: _____,
    ...shown
  } = shownJob(job)
  const seen = JSON.stringify({ ...shown, outbox: undefined }, (_key, value) =>
    typeof value === 'bigint' ? `${value}` : value,
  )
  looks.set(job, seen)
  return seen
}

/**
 * A running job looks the same whatever its nodes commit to, answer, deliver and find; and whatever happens at all once all of
 * the quorum have committed. Counts the comparisons.
 */
export function checkShown(before: Job, command: Command, after: Job): number {
  if (isSettled(after.phase)) return 0
  const isSaid = ['commit', 'reveal', 'deliver', 'post-verdict'].includes(command.type)
  if (!isSaid && !before.firstCommitted) return 0
  const [was, is] = [look(before), look(after)]
  if (was !== is) throw new Error(`${command.type} shows: ${was} is now ${is}`)
  return 1
}

const noteable: ReadonlySet<string> = new Set([
  'events',
  'outbox',
  'nextEffect',
  'tickAt',
  'faults',
  'assignments',
])

/** What a refused command leaves behind: a fault of its sender, proven by two statements for one fence, once, and nothing else. */
export function checkNoted(before: Job, command: Command, after: Job, refused: string): string {
  if (!('fence' in command)) throw new Error(`${command.type} is no statement`)
  const { node, fence } = command
  if (command.type === 'commit') return checkNotedLate(before, after, fence)
  const fault = after.faults!.at(-1)!
  const [one, other] = fault.statements!
  const changed = Object.keys(after).filter(
    (key) => !noteable.has(key) && after[key as keyof Job] !== before[key as keyof Job],
  )
  const held = [
    refused === 'already-answered',
    after.faults!.length === (before.faults?.length ?? 0) + 1,
    [fault, one!.body, other!.body].every((part) => part.fence === fence),
    [fault.node, one!.body.address, other!.body.address].every((address) => address === node),
    one!.hash !== other!.hash,
    changed.length === 0,
    after.assignments.every(({ status }, index) => status === before.assignments[index]?.status),
  ]
  promise(held.every(Boolean), `${JSON.stringify(held)} after ${command.type}`, after)
  return `${fault.kind} ${command.type}`
}

function checkNotedLate(before: Job, after: Job, fence: number): string {
  const changed = after.assignments.filter(
    (assignment, at) => assignment !== before.assignments[at],
  )
  promise(changed.length === 1 && changed[0]?.fence === fence, 'one is scored', after)
  promise(changed[0]?.scores?.at(-1) === 'answered-late', 'for being late', after)
  return 'answered-late'
}
