import { comparators } from '../../lib/comparators/all.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import type { JobPhase, JobReason } from '../../lib/schemas/jobs.ts'
import { accepts, rejects } from '../../lib/tally.ts'
import type { Effect } from './effects.ts'
import {
  type Assignment,
  currentAssignments,
  isSettled,
  type Job,
  type JobLimits,
  type PastRound,
  recorded,
  type Transition,
} from './job.ts'
import { noticesOf } from './webhook.ts'

type JobReasonCode = (typeof JobReason)['options'][number]

/**
 * Ends a job for good. All its rounds are scored only here, and not when it is cancelled: a client that sees or guesses how
 * the answers compare could otherwise let only those ends count that harm a node.
 */
export function settle(job: Job, phase: JobPhase, reason: JobReasonCode, now: number): Transition {
  const settled: Job = { ...job, phase, reason, settledAt: now }
  if (!isSettled(phase)) throw new TypeError(`${phase} does not settle a job`)
  const effects: Effect[] = phase === 'cancelled' ? [] : scores(job, phase)
  if (phase === 'accepted') effects.push({ type: 'commit-result' })
  effects.push(...noticesOf(settled))
  return { job: recorded(settled, now, phase, { detail: reason }), effects }
}

/** Counts the verdicts once every seat has answered: accept, reject and start over, or draw one more verifier. */
export function tally(job: Job, now: number, limits: JobLimits): Transition {
  const assignments = currentAssignments(job)
  if (assignments.length < job.seats || assignments.some(({ status }) => status !== 'done')) {
    return { job, effects: [] }
  }
  const verifiers = assignments.filter(({ role }) => role === 'verifier')
  const votes = verifiers.flatMap(({ verdict }) => (verdict ? [verdict.body] : []))
  if (accepts(job.comparator, votes, job.minMatches)) {
    return settle(job, 'accepted', 'quorum-agreed', now)
  }
  if (rejects(votes, dissentersAgree(job, verifiers))) return startOver(job, now)
  if (verifiers.length >= limits.maxVerifiers) {
    return settle(job, 'disputed', 'quorum-disagreed', now)
  }
  const widened: Job = { ...job, seats: job.seats + 1, fillAt: now }
  return { job: recorded(widened, now, 'verifier-added'), effects: [] }
}

/** True when all verifiers that contradict the leader gave, by their evidence, the same answer. */
function dissentersAgree(job: Job, verifiers: readonly Assignment[]): boolean {
  const dissent = verifiers.flatMap(({ verdict }) =>
    verdict?.body.verdict === 'no-match' && verdict.body.reason !== 'inconclusive'
      ? [verdict.body.evidence]
      : [],
  )
  const { compare } = comparators[job.comparator]
  return dissent.every((a, index) =>
    dissent.slice(index + 1).every((b) => compare(a, b) === 'match'),
  )
}

/** The leader was outvoted: the job goes to a new quorum without anyone who took part. */
function startOver(job: Job, now: number): Transition {
  const next: Job = {
    ...job,
    phase: 'running',
    reason: 'leader-outvoted',
    round: job.round + 1,
    seats: 1 + job.verifierCount,
    result: undefined,
    rounds: withRound(job, now),
    fillAt: now,
  }
  return { job: recorded(next, now, 'started-over'), effects: [] }
}

const maxRounds = 20

const withRound = ({ rounds = [], round, result }: Job, now: number): readonly PastRound[] =>
  (result ? [...rounds, { round, result, endedAt: now }] : rounds).slice(-maxRounds)

/** What the end of its round, `end` that of the last, says of each node that answered. */
function scores(job: Job, end: JobPhase): Effect[] {
  return job.assignments.flatMap(({ node, fence, round, role, status, verdict }): Effect[] => {
    if (status !== 'done') return []
    const outcome = round < job.round ? 'rejected' : end
    const code = role === 'leader' ? leaderCode(job, outcome) : verifierCode(outcome, verdict?.body)
    return code === undefined ? [] : [{ type: 'score-node', node, fence, code }]
  })
}

function leaderCode(job: Job, outcome: JobPhase): ReputationCode | undefined {
  if (outcome === 'accepted') return 'result-accepted'
  if (outcome === 'rejected') return 'result-rejected'
  return outcome === 'disputed' ? disputedCode(job) : undefined
}

/** That nobody agrees says next to nothing of the leader; that most verifiers agree, and none of them with it, says much. */
function disputedCode(job: Job): ReputationCode {
  const verdicts = currentAssignments(job).flatMap(({ verdict }) => (verdict ? [verdict.body] : []))
  if (verdicts.some(({ verdict }) => verdict === 'match')) return 'result-disputed'
  const { compare } = comparators[job.comparator]
  const largest = Math.max(
    0,
    ...verdicts.map(
      (one) => verdicts.filter((other) => compare(one.evidence, other.evidence) === 'match').length,
    ),
  )
  const isMost = largest >= 2 && 2 * largest > verdicts.length
  return isMost ? 'result-contradicted' : 'result-unmatched'
}

function verifierCode(
  outcome: JobPhase,
  vote: { verdict: 'match' | 'no-match'; reason?: string | undefined } | undefined,
): ReputationCode | undefined {
  if (!vote) return undefined
  if (outcome === 'disputed') return 'verdict-disputed'
  if (outcome !== 'accepted' && outcome !== 'rejected') return undefined
  if (vote.reason === 'inconclusive') return 'verdict-disputed'
  const upheld = (vote.verdict === 'match') === (outcome === 'accepted')
  return upheld ? 'verdict-upheld' : 'verdict-outvoted'
}
